#pragma once

#include <memory>

#include "sinkscope/app/theory/calculator.h"

namespace sinkscope::app {

/// One file each, of the same name.
std::unique_ptr<Calculator> make_geometry(const TheoryOptions& options, Console& console);
std::unique_ptr<Calculator> make_cost(const TheoryOptions& options, Console& console);
std::unique_ptr<Calculator> make_smoothing(const TheoryOptions& options, Console& console);
std::unique_ptr<Calculator> make_cone(const TheoryOptions& options, Console& console);
std::unique_ptr<Calculator> make_switch(const TheoryOptions& options, Console& console);

}  // namespace sinkscope::app
