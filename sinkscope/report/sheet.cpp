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

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

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

void write_table(const SheetTable& table, const std::vector<SheetRow>& rows, std::ostream& out) {
  std::vector<size_t> shown, widths;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    const bool list = std::any_of(rows.begin(), rows.end(), [&](const SheetRow& row) {
      return c < row.cells.size() && std::holds_alternative<std::vector<double>>(row.cells[c]);
    });
    if (list) continue;
    size_t width = text_width(terminal_text(table.columns[c].name));
    for (const SheetRow& row : rows) {
      if (c < row.cells.size()) width = std::max(width, text_width(cell_text(row.cells[c])));
    }
    shown.push_back(c), widths.push_back(width);
  }
  const auto write_line = [&](auto text_of, auto is_text) {
    std::string line;
    for (size_t k = 0; k < shown.size(); ++k) {
      const std::string text = text_of(shown[k]);
      const std::string room(widths[k] - text_width(text), ' ');
      line += "  ";
      line += is_text(shown[k]) ? text + room : room + text;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  };
  const auto is_text = [&](size_t c) {
    return std::any_of(rows.begin(), rows.end(), [&](const SheetRow& row) {
      return c < row.cells.size() && std::holds_alternative<std::string>(row.cells[c]);
    });
  };
  out << '\n' << terminal_text(table.title) << '\n';
  write_line([&](size_t c) { return terminal_text(table.columns[c].name); }, is_text);
  for (const SheetRow& row : rows) {
    write_line(
        [&](size_t c) { return c < row.cells.size() ? cell_text(row.cells[c]) : std::string("-"); },
        is_text);
  }
}

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
    if (!rows.empty()) write_table(table, rows, out);
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
