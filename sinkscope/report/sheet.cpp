#include "sinkscope/report/sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sinkscope/base/error.h"
#include "sinkscope/report/html.h"
#include "sinkscope/report/json.h"
#include "sinkscope/report/text.h"
#include "sinkscope/store/run_facts.h"

namespace sinkscope::report {
namespace {

using Json = nlohmann::ordered_json;
using store::SheetCell;
using store::SheetColumn;
using store::SheetRow;
using store::SheetTable;

/// How a store of either kind names what it holds.
struct Naming {
  const char* schema;
  std::string_view prefix;  ///< of the identity's keys
  const char* subject;      ///< the key, behind the prefix, that says what was done
};
constexpr Naming kTheory = {"sinkscope.theory/1", "theory.", "what"};
constexpr Naming kTrain = {"sinkscope.train/1", "train.", "task"};

bool is_training(const store::SheetStore& sheet) {
  return sheet.identity().contains(std::string(store::kTrainKey));
}

/// The place of a column; the number of columns where there is none of that name.
size_t column_of(const SheetTable& table, std::string_view name) {
  const auto found = std::find_if(table.columns.begin(), table.columns.end(),
                                  [&](const SheetColumn& column) { return column.name == name; });
  return static_cast<size_t>(found - table.columns.begin());
}

/// Whether a training adds to the table while it goes on.
bool is_record(const SheetTable& table) {
  return table.name != store::kResultsTable &&
         column_of(table, store::kStepColumn) < table.columns.size();
}

Json cell_json(const SheetCell& cell) {
  if (const auto* value = std::get_if<double>(&cell)) return number(*value);
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  Json list = Json::array();
  for (const double value : std::get<std::vector<double>>(cell)) list.push_back(number(value));
  return list;
}

Json table_json(const store::SheetStore& sheet, const SheetTable& table) {
  Json columns = Json::array(), rows = Json::array();
  for (const SheetColumn& c : table.columns) {
    columns.push_back({{"name", c.name}, {"unit", c.unit}, {"definition", c.definition}});
  }
  for (const SheetRow& row : sheet.rows(table.name)) {
    Json cells = Json::array();
    for (const SheetCell& cell : row.cells) cells.push_back(cell_json(cell));
    rows.push_back(std::move(cells));
  }
  return {{"name", table.name},
          {"title", table.title},
          {"columns", std::move(columns)},
          {"rows", std::move(rows)}};
}

Json plot_json(const store::SheetPlot& plot) {
  return {{"kind", plot.kind},   {"table", plot.table}, {"title", plot.title},
          {"x", plot.x},         {"y", plot.y},         {"series", plot.series},
          {"lower", plot.lower}, {"upper", plot.upper}, {"value", plot.value},
          {"fit", plot.fit}};
}

std::string cell_csv(const SheetCell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return csv_field(*text);
  if (const auto* value = std::get_if<double>(&cell)) {
    return std::isfinite(*value) ? fmt::format("{}", *value) : std::string();
  }
  std::string list;
  for (const double value : std::get<std::vector<double>>(cell)) {
    if (!list.empty()) list += ' ';
    list += fmt::format("{}", value);
  }
  return list;
}

constexpr const char* kWriteResults = "write results";

/// The first table, or the one named.
const SheetTable& find_table(const std::vector<SheetTable>& tables, std::string_view name) {
  std::string names;
  for (const SheetTable& table : tables) {
    if (name.empty() || table.name == name) return table;
    if (!names.empty()) names += ", ";
    names += table.name;
  }
  throw Error(ErrorKind::kUsage, kWriteResults, fmt::format("no table \"{}\"", name),
              fmt::format("--table takes one of: {}", names));
}

void write_header(const SheetTable& table, std::ostream& out) {
  const char* separator = "";
  for (const SheetColumn& column : table.columns) {
    out << separator << csv_field(column.name);
    separator = ",";
  }
  out << '\n';
}

void write_row(const SheetRow& row, std::ostream& out) {
  for (size_t c = 0; c < row.cells.size(); ++c) out << (c > 0 ? "," : "") << cell_csv(row.cells[c]);
  out << '\n';
}

std::string cell_text(const SheetCell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return terminal_text(*text);
  const double value = std::get<double>(cell);
  return std::isfinite(value) ? fmt::format("{:.5g}", value) : std::string("-");
}

/// A table set as text: columns of numbers to the right, of texts to the left.
class TextTable {
 public:
  TextTable(const SheetTable& table, const std::vector<SheetRow>& rows)
      : table_(table), rows_(rows) {
    for (size_t c = 0; c < table.columns.size(); ++c) add_column(c);
  }

  void write(std::ostream& out) const {
    out << '\n' << terminal_text(table_.title);
    if (!constant_.empty()) out << " (" << constant_ << ")";
    out << '\n';
    write_line([&](size_t c) { return terminal_text(table_.columns[c].name); }, out);
    for (const SheetRow& row : rows_) {
      write_line([&](size_t c) { return text_of(row, c); }, out);
    }
  }

 private:
  struct Column {
    size_t place, width;
    bool text;
  };

  static std::string text_of(const SheetRow& row, size_t c) {
    return c < row.cells.size() ? cell_text(row.cells[c]) : std::string("-");
  }

  /// A list of numbers is left out; what is the same in every row is said once, above.
  void add_column(size_t c) {
    const std::string name = terminal_text(table_.columns[c].name);
    Column column{c, text_width(name), false};
    bool same = rows_.size() > 1;
    for (const SheetRow& row : rows_) {
      if (c < row.cells.size() && std::holds_alternative<std::vector<double>>(row.cells[c])) return;
      const std::string text = text_of(row, c);
      column.width = std::max(column.width, text_width(text));
      column.text |= c < row.cells.size() && std::holds_alternative<std::string>(row.cells[c]);
      same &= text == text_of(rows_.front(), c);
    }
    if (!same) {
      columns_.push_back(column);
      return;
    }
    if (!constant_.empty()) constant_ += ", ";
    constant_ += fmt::format("{} {}", name, text_of(rows_.front(), c));
  }

  template <typename TextOf>
  void write_line(TextOf text_of_column, std::ostream& out) const {
    std::string line;
    for (const Column& column : columns_) {
      const std::string text = text_of_column(column.place);
      const std::string room(column.width - text_width(text), ' ');
      line += "  ";
      line += column.text ? text + room : room + text;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }

  const SheetTable& table_;
  const std::vector<SheetRow>& rows_;
  std::vector<Column> columns_;
  std::string constant_;
};

}  // namespace

Json sheet_document(const store::SheetStore& sheet) {
  const Naming& naming = is_training(sheet) ? kTrain : kTheory;
  const store::RunFacts facts = store::read_facts(sheet.facts());
  Json settings = Json::object(), tables = Json::array(), plots = Json::array();
  for (const auto& [key, text] : sheet.identity()) {
    if (!key.starts_with(naming.prefix)) continue;
    const Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    settings[key.substr(naming.prefix.size())] = value.is_discarded() ? Json(text) : value;
  }
  for (const SheetTable& table : sheet.tables()) tables.push_back(table_json(sheet, table));
  for (const store::SheetPlot& plot : sheet.plots()) plots.push_back(plot_json(plot));
  const Json subject = settings.value(naming.subject, Json());
  settings.erase(naming.subject);
  return {{"schema", naming.schema},
          {"tool",
           {{"name", facts.tool_name}, {"version", facts.tool_version}, {"git", facts.tool_git}}},
          {naming.subject, subject},
          {"settings", std::move(settings)},
          {"tables", std::move(tables)},
          {"plots", std::move(plots)},
          {"findings", sheet.findings()},
          {"warnings", facts.warnings},
          {"timing", {{"seconds", number(facts.forward_s)}}}};
}

void write_sheet_json(const store::SheetStore& sheet, std::ostream& out) {
  write_document(sheet_document(sheet), out);
}

void write_sheet_csv(const store::SheetStore& sheet, std::string_view name, std::ostream& out) {
  const std::vector<SheetTable> tables = sheet.tables();
  const SheetTable& table = find_table(tables, name);
  write_header(table, out);
  for (const SheetRow& row : sheet.rows(table.name)) write_row(row, out);
}

void write_run_csv(const store::SheetStore& sheet, std::string_view name, std::string_view run,
                   std::ostream& out) {
  const std::vector<SheetTable> tables = sheet.tables();
  const SheetTable& table = find_table(tables, name);
  const size_t column = column_of(table, store::kRunColumn);
  if (column == table.columns.size()) {
    throw Error(ErrorKind::kUsage, kWriteResults,
                fmt::format("table \"{}\" has no column \"{}\"", name, store::kRunColumn));
  }
  write_header(table, out);
  for (const SheetRow& row : sheet.rows(table.name)) {
    const auto* text =
        column < row.cells.size() ? std::get_if<std::string>(&row.cells[column]) : nullptr;
    if (text && *text == run) write_row(row, out);
  }
}

void write_sheet_terminal(const store::SheetStore& sheet, const TerminalOptions& options,
                          std::ostream& out) {
  const bool training = is_training(sheet);
  std::string recorded;
  for (const SheetTable& table : sheet.tables()) {
    const std::vector<SheetRow> rows = sheet.rows(table.name);
    if (rows.empty()) continue;
    if (training && is_record(table)) {
      if (!recorded.empty()) recorded += ", ";
      recorded += fmt::format("{} ({} rows)", terminal_text(table.name),
                              count_text(static_cast<int64_t>(rows.size())));
    } else {
      TextTable(table, rows).write(out);
    }
  }
  std::vector<std::string> findings, more;
  for (const std::string& finding : sheet.findings()) findings.push_back(terminal_text(finding));
  if (!recorded.empty()) more.push_back(recorded + "; one of them as CSV: --format csv --table");
  write_paragraphs("Recorded per step", more, options.columns, out);
  write_paragraphs("Findings", findings, options.columns, out);
  write_results(options, out);
}

void write_sheet_html(const store::SheetStore& sheet, std::string_view bundle, std::ostream& out) {
  splice_page(bundle, compact_text(sheet_document(sheet)), out);
}

}  // namespace sinkscope::report
