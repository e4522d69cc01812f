#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sinkscope/store/store.h"

namespace sinkscope::store {

/// What a calculator or a training gives: tables of numbers and texts, what is drawn of them, and
/// what follows from them in words.

/// A number (NaN: no data), a text, or a list of numbers such as the vector of a certificate.
using SheetCell = std::variant<double, std::string, std::vector<double>>;

struct SheetColumn {
  std::string name, unit, definition;  ///< the definition names its source
};

struct SheetTable {
  std::string name, title;
  std::vector<SheetColumn> columns;
};

struct SheetRow {
  std::string table;
  std::vector<SheetCell> cells;  ///< one per column
};

/// A picture of one table; every name is one of its columns, "" for none.
struct SheetPlot {
  /// "lines": both axes linear. "log-x": x logarithmic; what lies at 0 or below stands at the left
  /// edge, labelled 0. "log-log": both logarithmic. "map": cells coloured by `value` over x and y.
  std::string kind;
  std::string table;
  std::string title;
  std::string x = {}, y = {};
  std::vector<std::string> series = {};  ///< rows that agree in these columns make one line
  std::string lower = {}, upper = {};    ///< lines: a band around y
  std::string value = {};                ///< map: what the colour shows, diverging around 0
  /// log-log: a table whose rows hold the series' columns, exponent, factor, from, to: the line
  /// factor x^exponent is drawn over [from, to].
  std::string fit = {};
};

/// A table with this name has the columns check, expected, measured (texts) and holds (1 or 0); a
/// row that does not hold makes the command end with 1.
inline constexpr std::string_view kChecksTable = "checks";

/// A database of the same file format as Store, with a sheet instead of measured sequences. Work is
/// cut into units by number; every put() is one transaction, so a killed run repeats no finished
/// unit.
class SheetStore {
 public:
  static std::unique_ptr<SheetStore> in_memory(const Facts& identity);
  /// Errors as Store::open_or_create and Store::open.
  static std::unique_ptr<SheetStore> open_or_create(const std::filesystem::path& file,
                                                    const Facts& identity, bool overwrite);
  static std::unique_ptr<SheetStore> open(const std::filesystem::path& file);
  virtual ~SheetStore() = default;

  virtual Facts identity() const = 0;
  virtual void put_fact(std::string_view key, std::string_view json) = 0;
  virtual Facts facts() const = 0;

  /// Replaces what stood there.
  virtual void put_outline(std::span<const SheetTable> tables,
                           std::span<const SheetPlot> plots) = 0;
  virtual std::vector<SheetTable> tables() const = 0;
  virtual std::vector<SheetPlot> plots() const = 0;

  /// The rows (at least one) of a finished unit >= 0.
  virtual void put(int64_t unit, std::span<const SheetRow> rows) = 0;
  virtual std::set<int64_t> finished() const = 0;
  /// What follows from all units; replaces what stood there.
  virtual void put_conclusion(std::span<const SheetRow> rows,
                              std::span<const std::string> findings) = 0;

  /// By unit, then in the order given; concluded rows last.
  virtual std::vector<SheetRow> rows(std::string_view table) const = 0;
  /// What put() was given for this unit.
  virtual std::vector<SheetRow> unit_rows(int64_t unit) const = 0;
  virtual std::vector<std::string> findings() const = 0;
};

/// Identity keys that the store of a calculator and that of a training have, and no other.
inline constexpr std::string_view kSheetKey = "theory.what";
inline constexpr std::string_view kTrainKey = "train.task";

/// Whether a store with this identity holds a sheet.
bool is_sheet(const Facts& identity);

/// A training's table with a row per trained head. Its other tables with a step are records.
inline constexpr std::string_view kResultsTable = "results";
/// In a training's tables: the run that a row belongs to (a text), and the training step it was
/// recorded at, 0 being the initial values.
inline constexpr std::string_view kRunColumn = "run";
inline constexpr std::string_view kStepColumn = "step";

}  // namespace sinkscope::store
