#include "sinkscope/store/sheet.h"

#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sinkscope/base/error.h"
#include "sinkscope/store/facts_store.h"
#include "sinkscope/store/utf8.h"

namespace sinkscope::store {
namespace {

using Json = nlohmann::json;
constexpr int64_t kConclusion = -1;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json to_json(const SheetCell& cell) {
  if (const auto* value = std::get_if<double>(&cell)) return number(*value);
  if (const auto* text = std::get_if<std::string>(&cell)) return valid_utf8(*text);
  Json list = Json::array();
  for (const double value : std::get<std::vector<double>>(cell)) list.push_back(number(value));
  return list;
}

double to_number(const Json& json) {
  return json.is_number() ? json.get<double>() : diagnostics::kNoData;
}

SheetCell to_cell(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (!json.is_array()) return to_number(json);
  std::vector<double> list;
  for (const Json& entry : json) list.push_back(to_number(entry));
  return list;
}

/// `text` as a JSON value of the kind expected; kBadFile otherwise.
Json parse(const std::string& text, const std::string& file, const char* column,
           Json::value_t kind) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.type() != kind) {
    throw damaged_store(fmt::format("{}: {} holds {:.40}", file, column, valid_utf8(text)));
  }
  return json;
}

std::string text_of(const Json& json) {
  return json.is_string() ? json.get<std::string>() : std::string();
}

constexpr std::pair<const char*, std::string SheetPlot::*> kPlotTexts[] = {
    {"kind", &SheetPlot::kind},   {"table", &SheetPlot::table}, {"title", &SheetPlot::title},
    {"x", &SheetPlot::x},         {"y", &SheetPlot::y},         {"lower", &SheetPlot::lower},
    {"upper", &SheetPlot::upper}, {"value", &SheetPlot::value}, {"fit", &SheetPlot::fit}};

Json to_json(const SheetPlot& plot) {
  Json json = {{"series", Json::array()}};
  for (const std::string& name : plot.series) json["series"].push_back(valid_utf8(name));
  for (const auto& [key, member] : kPlotTexts) json[key] = valid_utf8(plot.*member);
  return json;
}

SheetPlot to_plot(const Json& json) {
  SheetPlot plot;
  for (const auto& [key, member] : kPlotTexts) plot.*member = text_of(json.value(key, Json()));
  for (const Json& name : json.value("series", Json::array())) plot.series.push_back(text_of(name));
  return plot;
}

class SqliteSheet final : public FactsStore<SheetStore> {
 public:
  explicit SqliteSheet(Connection connection) : FactsStore(std::move(connection)) {}

  void put_outline(std::span<const SheetTable> tables, std::span<const SheetPlot> plots) override {
    in_transaction("store tables", [&] {
      connection_.database.exec("DELETE FROM sheet_table; DELETE FROM sheet_plot");
      for (size_t t = 0; t < tables.size(); ++t) {
        Json columns = Json::array();
        for (const SheetColumn& c : tables[t].columns) {
          columns.push_back({valid_utf8(c.name), valid_utf8(c.unit), valid_utf8(c.definition)});
        }
        SQLite::Statement insert(connection_.database,
                                 "INSERT INTO sheet_table VALUES (?, ?, ?, ?)");
        insert.bind(1, static_cast<int64_t>(t));
        insert.bind(2, tables[t].name);
        insert.bind(3, valid_utf8(tables[t].title));
        insert.bind(4, columns.dump());
        insert.exec();
      }
      put_texts("sheet_plot", plots, [](const SheetPlot& plot) { return to_json(plot).dump(); });
    });
  }

  std::vector<SheetTable> tables() const override {
    return read([&] {
      std::vector<SheetTable> tables;
      SQLite::Statement query(connection_.database,
                              "SELECT name, title, columns FROM sheet_table ORDER BY ordinal");
      while (query.executeStep()) {
        SheetTable table{valid_utf8(query.getColumn(0).getString()),
                         valid_utf8(query.getColumn(1).getString()),
                         {}};
        const Json columns = parse(query.getColumn(2).getString(), connection_.name,
                                   "sheet_table.columns", Json::value_t::array);
        for (const Json& c : columns) {
          const auto part = [&](size_t i) {
            return c.is_array() && c.size() > i ? text_of(c[i]) : std::string();
          };
          table.columns.push_back({part(0), part(1), part(2)});
        }
        tables.push_back(std::move(table));
      }
      return tables;
    });
  }

  std::vector<SheetPlot> plots() const override {
    std::vector<SheetPlot> plots;
    for (const std::string& text : texts("SELECT plot FROM sheet_plot ORDER BY ordinal")) {
      plots.push_back(
          to_plot(parse(text, connection_.name, "sheet_plot.plot", Json::value_t::object)));
    }
    return plots;
  }

  void put(int64_t unit, std::span<const SheetRow> rows) override {
    in_transaction("store rows", [&] { put_rows(unit, rows); });
  }

  std::set<int64_t> finished() const override {
    return read([&] {
      std::set<int64_t> units;
      SQLite::Statement query(connection_.database,
                              "SELECT DISTINCT unit FROM sheet_row WHERE unit >= 0");
      while (query.executeStep()) units.insert(query.getColumn(0).getInt64());
      return units;
    });
  }

  void put_conclusion(std::span<const SheetRow> rows,
                      std::span<const std::string> findings) override {
    in_transaction("store findings", [&] {
      connection_.database.exec("DELETE FROM sheet_row WHERE unit < 0; DELETE FROM sheet_finding");
      put_rows(kConclusion, rows);
      put_texts("sheet_finding", findings, [](const std::string& text) { return text; });
    });
  }

  std::vector<SheetRow> rows(std::string_view table) const override {
    return rows_of("name = ? ORDER BY unit < 0, unit, place",
                   [&](SQLite::Statement& query) { query.bind(1, std::string(table)); });
  }

  std::vector<SheetRow> unit_rows(int64_t unit) const override {
    return rows_of("unit = ? ORDER BY place",
                   [&](SQLite::Statement& query) { query.bind(1, unit); });
  }

  std::vector<std::string> findings() const override {
    return texts("SELECT finding FROM sheet_finding ORDER BY ordinal");
  }

 private:
  template <typename Bind>
  std::vector<SheetRow> rows_of(const char* condition, Bind bind) const {
    return read([&] {
      std::vector<SheetRow> rows;
      SQLite::Statement query(connection_.database,
                              std::string("SELECT name, cells FROM sheet_row WHERE ") + condition);
      bind(query);
      while (query.executeStep()) {
        const Json cells = parse(query.getColumn(1).getString(), connection_.name,
                                 "sheet_row.cells", Json::value_t::array);
        SheetRow row{query.getColumn(0).getString(), {}};
        for (const Json& cell : cells) row.cells.push_back(to_cell(cell));
        rows.push_back(std::move(row));
      }
      return rows;
    });
  }

  void put_rows(int64_t unit, std::span<const SheetRow> rows) {
    SQLite::Statement insert(connection_.database, "INSERT INTO sheet_row VALUES (?, ?, ?, ?)");
    for (size_t place = 0; place < rows.size(); ++place) {
      Json cells = Json::array();
      for (const SheetCell& cell : rows[place].cells) cells.push_back(to_json(cell));
      insert.bind(1, unit);
      insert.bind(2, static_cast<int64_t>(place));
      insert.bind(3, rows[place].table);
      insert.bind(4, cells.dump());
      insert.exec();
      insert.reset();
    }
  }

  template <typename Entry, typename ToText>
  void put_texts(const std::string& table, std::span<const Entry> entries, ToText to_text) {
    SQLite::Statement insert(connection_.database, "INSERT INTO " + table + " VALUES (?, ?)");
    for (size_t i = 0; i < entries.size(); ++i) {
      insert.bind(1, static_cast<int64_t>(i));
      insert.bind(2, to_text(entries[i]));
      insert.exec();
      insert.reset();
    }
  }

  std::vector<std::string> texts(const char* sql) const {
    return read([&] {
      std::vector<std::string> all;
      SQLite::Statement query(connection_.database, sql);
      while (query.executeStep()) all.push_back(valid_utf8(query.getColumn(0).getString()));
      return all;
    });
  }

  template <typename Body>
  void in_transaction(const char* operation, Body body) {
    guarded(operation, connection_.name, [&] {
      SQLite::Transaction transaction(connection_.database, SQLite::TransactionBehavior::IMMEDIATE);
      body();
      transaction.commit();
    });
  }
};

}  // namespace

bool is_sheet(const Facts& identity) {
  return identity.contains(std::string(kSheetKey)) || identity.contains(std::string(kTrainKey));
}

std::unique_ptr<SheetStore> SheetStore::in_memory(const Facts& identity) {
  return std::make_unique<SqliteSheet>(connect_memory(identity));
}

std::unique_ptr<SheetStore> SheetStore::open_or_create(const std::filesystem::path& file,
                                                       const Facts& identity, bool overwrite) {
  return std::make_unique<SqliteSheet>(connect_writing(file, identity, overwrite));
}

std::unique_ptr<SheetStore> SheetStore::open(const std::filesystem::path& file) {
  return std::make_unique<SqliteSheet>(connect_reading(file));
}

}  // namespace sinkscope::store
