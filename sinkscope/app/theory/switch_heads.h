#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sinkscope/app/theory/calculator.h"

namespace sinkscope::app {

/// Random heads of Theorem C (method.md section 10): each unit draws heads of one kind and width.
class RandomHeads {
 public:
  /// `heads` in all, shared out evenly over kinds and widths.
  RandomHeads(int64_t heads, uint64_t seed);

  static store::SheetTable table();         ///< per kind and width
  static store::SheetTable bounds_table();  ///< per bound
  int64_t units() const { return std::ssize(units_); }
  std::vector<store::SheetRow> run(int64_t unit) const;
  /// Totals, checks and findings from the rows of the table.
  void conclude(const store::SheetStore& sheet, Calculator::Conclusion& conclusion) const;

 private:
  struct Unit {
    size_t kind;
    int64_t width, heads;
  };
  std::vector<Unit> units_;
  uint64_t seed_;
};

/// Small heads with an output of 0, or near it, and the premise of Theorem C that each breaks.
store::SheetTable switch_examples_table();
std::vector<store::SheetRow> switch_examples();
/// Their numbers against those of method.md section 10.
std::vector<store::SheetRow> switch_example_checks();

}  // namespace sinkscope::app
