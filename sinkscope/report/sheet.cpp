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

constexpr std::string_view kPrefix = "theory.";

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
  const store::RunFacts facts = store::read_facts(sheet.facts());
  Json settings = Json::object(), tables = Json::array(), plots = Json::array();
  for (const auto& [key, text] : sheet.identity()) {
    if (!key.starts_with(kPrefix)) continue;
    const Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    settings[key.substr(kPrefix.size())] = value.is_discarded() ? Json(text) : value;
  }
  for (const SheetTable& table : sheet.tables()) tables.push_back(table_json(sheet, table));
  for (const store::SheetPlot& plot : sheet.plots()) plots.push_back(plot_json(plot));
  const Json what = settings.value("what", Json());
  settings.erase("what");
  return {{"schema", "sinkscope.theory/1"},
          {"tool",
           {{"name", facts.tool_name}, {"version", facts.tool_version}, {"git", facts.tool_git}}},
          {"what", what},
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
  const auto found = std::find_if(tables.begin(), tables.end(), [&](const SheetTable& table) {
    return name.empty() || table.name == name;
  });
  if (found == tables.end()) {
    std::string names;
    for (const SheetTable& table : tables) {
      if (!names.empty()) names += ", ";
      names += table.name;
    }
    throw Error(ErrorKind::kUsage, "write results", fmt::format("no table \"{}\"", name),
                fmt::format("--table takes one of: {}", names));
  }
  std::string line;
  for (const SheetColumn& column : found->columns) {
    if (!line.empty()) line += ',';
    line += csv_field(column.name);
  }
  out << line << '\n';
  for (const SheetRow& row : sheet.rows(found->name)) {
    for (size_t c = 0; c < row.cells.size(); ++c)
      out << (c > 0 ? "," : "") << cell_csv(row.cells[c]);
    out << '\n';
  }
}

void write_sheet_terminal(const store::SheetStore& sheet, const TerminalOptions& options,
                          std::ostream& out) {
  for (const SheetTable& table : sheet.tables()) {
    const std::vector<SheetRow> rows = sheet.rows(table.name);
    if (!rows.empty()) TextTable(table, rows).write(out);
  }
  std::vector<std::string> findings;
  for (const std::string& finding : sheet.findings()) findings.push_back(terminal_text(finding));
  write_paragraphs("Findings", findings, options.columns, out);
  write_results(options, out);
}

void write_sheet_html(const store::SheetStore& sheet, std::string_view bundle, std::ostream& out) {
  splice_page(bundle, compact_text(sheet_document(sheet)), out);
}

}  // namespace sinkscope::report
