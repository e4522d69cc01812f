#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sinkscope/app/console.h"
#include "sinkscope/app/theory/options.h"
#include "sinkscope/store/sheet.h"

namespace sinkscope::app {

/// What `theory WHAT` does. The work is cut into units that do not depend on each other; a stored
/// sweep goes on after those that are finished.
class Calculator {
 public:
  virtual ~Calculator() = default;

  /// What two runs must share to share a store: names of options and JSON text.
  virtual store::Facts settings() const = 0;
  virtual std::vector<store::SheetTable> tables() const = 0;
  virtual std::vector<store::SheetPlot> plots() const = 0;

  virtual int64_t units() const = 0;
  /// Called from several threads at once, each with its own unit. Random numbers are seeded by the
  /// unit, so that neither threads nor resuming changes them.
  virtual std::vector<store::SheetRow> run(int64_t unit) const = 0;

  struct Conclusion {
    std::vector<store::SheetRow> rows;  ///< of fits, checks and other tables made of all units
    std::vector<std::string> findings;
  };
  virtual Conclusion conclude(const store::SheetStore& sheet) const = 0;
};

struct CalculatorInfo {
  std::string_view name;
  std::string_view question;  ///< shown by --help
  std::unique_ptr<Calculator> (*make)(const TheoryOptions&, Console&);
};
std::span<const CalculatorInfo> calculators();

/// The table of checks (store::kChecksTable) and one of its rows.
store::SheetTable checks_table();
store::SheetRow check_row(std::string check, std::string expected, std::string measured,
                          bool holds);

/// Seed of a unit's random numbers: differs between units and between purposes of one unit.
uint64_t unit_seed(uint64_t seed, int64_t unit, uint64_t purpose = 0);

/// "2:48" (steps of 1), "8:64:8", "64:1024:x2" (factors), "8,16,32" or a mix by commas; every
/// number in [least, most]. Errors name `flag`.
std::vector<int64_t> read_numbers(std::string_view text, std::string_view flag, int64_t least,
                                  int64_t most);

}  // namespace sinkscope::app
