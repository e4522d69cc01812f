#pragma once

#include <string>
#include <vector>

#include "sinkscope/app/theory/calculator.h"

namespace sinkscope::app {

/// Tables of `theory cost` and what is drawn and concluded of them: exponents over the upper half
/// of T, and where the diagonal is cheaper than the sink.
inline constexpr const char* kCostTable = "cost";

std::vector<store::SheetTable> cost_tables(bool task);
/// `axis`: what the map of winners shows over T: "sine", "d" or "tokens".
std::vector<store::SheetPlot> cost_plots(const std::string& axis, bool task);
Calculator::Conclusion conclude_cost(const store::SheetStore& sheet, bool task);

}  // namespace sinkscope::app
