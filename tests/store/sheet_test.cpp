#include "sinkscope/store/sheet.h"

#include <SQLiteCpp/Database.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sinkscope/base/error.h"
#include "tests/support/paths.h"

namespace sinkscope::store {
namespace {

namespace fs = std::filesystem;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

const Facts kIdentity = {{std::string(kSheetKey), "\"cost\""}, {"theory.seed", "7"}};

SheetRow row(double tokens, SheetCell cost, std::string table = "sweep") {
  return {std::move(table), {tokens, std::move(cost)}};
}

std::vector<SheetTable> tables() {
  return {{"sweep", "Costs", {{"T", "", "tokens"}, {"cost", "nats", "least norm"}}},
          {"fits", "Fits", {{"exponent", "", "of the sweep"}}}};
}

SheetPlot plot() {
  return {"log-log",           "sweep", "Cost by tokens", "T",      "cost",
          {"pattern", "norm"}, "lower", "upper",          "winner", "fits"};
}

std::unique_ptr<SheetStore> create(const fs::path& file) {
  auto store = SheetStore::open_or_create(file, kIdentity, false);
  const std::vector<SheetTable> outline = tables();
  const SheetPlot plots[] = {plot()};
  store->put_outline(outline, plots);
  return store;
}

void put(SheetStore& store, int64_t unit, std::vector<SheetRow> rows) { store.put(unit, rows); }

/// First cells of a table's rows.
std::vector<double> first_cells(const SheetStore& store, std::string_view table = "sweep") {
  std::vector<double> cells;
  for (const SheetRow& row : store.rows(table)) cells.push_back(std::get<double>(row.cells.at(0)));
  return cells;
}

template <typename Body>
void expect_bad_file(Body body, const std::string& part) {
  try {
    body();
    FAIL() << "no error about " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::kBadFile);
    EXPECT_NE(error.seen.find(part), std::string::npos) << error.seen;
  }
}

TEST(Sheet, StoresOfCalculatorsAndOfTrainingsAreSheetsAndOthersAreNot) {
  EXPECT_TRUE(is_sheet(kIdentity));
  EXPECT_TRUE(is_sheet({{"train.task", "\"copy-paste\""}}));
  EXPECT_FALSE(is_sheet({{"train.seed", "7"}, {"model.sha256", "00"}}));
}

TEST(Sheet, ComesBackInTheOrderOfUnitsAfterAReopening) {
  const fs::path file = sinkscope::test::scratch_directory("sheet") / "a.db";
  {
    const auto store = create(file);
    put(*store, 11, {row(30, 3.5)});
    put(*store, 2, {row(10, 1.5), row(1, 0.5, "fits"), row(20, "a \"text\"")});
    store->put_fact("warnings", "[]");
    const SheetRow concluded[] = {row(5, 9.0), row(2, 0.25, "fits")};
    const std::string findings[] = {"first", "second"};
    store->put_conclusion(concluded, findings);
  }
  const auto store = SheetStore::open(file);
  EXPECT_EQ(store->finished(), (std::set<int64_t>{2, 11}));  // the conclusion is no unit
  EXPECT_EQ(first_cells(*store), (std::vector<double>{10, 20, 30, 5}));
  EXPECT_EQ(first_cells(*store, "fits"), (std::vector<double>{1, 2}));
  EXPECT_EQ(std::get<std::string>(store->rows("sweep")[1].cells[1]), "a \"text\"");
  EXPECT_TRUE(store->rows("absent").empty());
  EXPECT_EQ(store->findings(), (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(store->identity(), kIdentity);
  EXPECT_EQ(store->facts().at("warnings"), "[]");
}

TEST(Sheet, OutlineComesBackAndIsReplaced) {
  const fs::path file = sinkscope::test::scratch_directory("sheet-outline") / "a.db";
  create(file);
  create(file);  // a resumed sweep writes its outline again
  const auto store = SheetStore::open(file);
  const std::vector<SheetTable> back = store->tables();
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].name, "sweep");
  EXPECT_EQ(back[0].title, "Costs");
  ASSERT_EQ(back[0].columns.size(), 2u);
  EXPECT_EQ(back[0].columns[1].name, "cost");
  EXPECT_EQ(back[0].columns[1].unit, "nats");
  EXPECT_EQ(back[0].columns[1].definition, "least norm");
  ASSERT_EQ(store->plots().size(), 1u);
  const SheetPlot found = store->plots()[0], put = plot();
  EXPECT_EQ(found.series, put.series);
  for (const auto member :
       {&SheetPlot::kind, &SheetPlot::table, &SheetPlot::title, &SheetPlot::x, &SheetPlot::y,
        &SheetPlot::lower, &SheetPlot::upper, &SheetPlot::value, &SheetPlot::fit}) {
    EXPECT_EQ(found.*member, put.*member);
  }
}

TEST(Sheet, NumbersAreExactAndNoDataStaysNoData) {
  const auto store = SheetStore::in_memory(kIdentity);
  const std::vector<double> vector = {0.1, kNaN, -1e-300, 3};
  put(*store, 0, {{"sweep", {1.0 / 3, kNaN, HUGE_VAL, vector, std::vector<double>{}, ""}}});
  const std::vector<SheetCell> cells = store->rows("sweep").at(0).cells;
  EXPECT_EQ(std::get<double>(cells[0]), 1.0 / 3);
  EXPECT_TRUE(std::isnan(std::get<double>(cells[1])));
  EXPECT_TRUE(std::isnan(std::get<double>(cells[2])));  // JSON has no infinity
  const auto& list = std::get<std::vector<double>>(cells[3]);
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(list[0], 0.1);
  EXPECT_TRUE(std::isnan(list[1]));
  EXPECT_EQ(list[2], -1e-300);
  EXPECT_TRUE(std::get<std::vector<double>>(cells[4]).empty());
  EXPECT_EQ(std::get<std::string>(cells[5]), "");
}

TEST(Sheet, BytesThatAreNoTextAreShownAsBytes) {
  const auto store = SheetStore::in_memory(kIdentity);
  put(*store, 0, {row(1, "a\xF0z")});
  const std::string findings[] = {"b\xFF"};
  store->put_conclusion({}, findings);
  EXPECT_EQ(std::get<std::string>(store->rows("sweep")[0].cells[1]), "a\\xF0z");
  EXPECT_EQ(store->findings()[0], "b\\xFF");
}

TEST(Sheet, NoUnitIsWrittenTwice) {
  const auto store = SheetStore::in_memory(kIdentity);
  put(*store, 4, {row(1, 2.0)});
  EXPECT_THROW(put(*store, 4, {row(7, 7.0), row(8, 8.0)}), Error);
  EXPECT_EQ(first_cells(*store), (std::vector<double>{1}));
}

TEST(Sheet, TheConclusionIsReplacedAndTheUnitsStay) {
  const auto store = SheetStore::in_memory(kIdentity);
  const SheetRow old[] = {row(91, 0.0), row(92, 0.0)};
  const std::string old_findings[] = {"of the first unit", "and more"};
  put(*store, 0, {row(1, 1.0)});
  store->put_conclusion(old, old_findings);
  put(*store, 1, {row(2, 2.0)});
  const SheetRow now[] = {row(93, 0.0)};
  const std::string findings[] = {"of both"};
  store->put_conclusion(now, findings);
  EXPECT_EQ(first_cells(*store), (std::vector<double>{1, 2, 93}));
  EXPECT_EQ(store->findings(), (std::vector<std::string>{"of both"}));
}

TEST(Sheet, AnotherCalculationIsRefused) {
  const fs::path file = sinkscope::test::scratch_directory("sheet-other") / "a.db";
  put(*create(file), 0, {row(1, 1.0)});
  Facts other = kIdentity;
  other["theory.seed"] = "8";
  try {
    SheetStore::open_or_create(file, other, false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::kUsage);
    EXPECT_NE(error.seen.find("theory.seed is 7 there and 8 now"), std::string::npos) << error.seen;
  }
  EXPECT_EQ(SheetStore::open(file)->finished().size(), 1u);
  EXPECT_TRUE(SheetStore::open_or_create(file, other, /*overwrite=*/true)->finished().empty());
}

TEST(Sheet, DamagedJsonIsABadFile) {
  const fs::path file = sinkscope::test::scratch_directory("sheet-damaged") / "a.db";
  put(*create(file), 0, {row(1, 1.0)});
  const auto damage = [&](const std::string& sql) {
    SQLite::Database(file.string(), SQLite::OPEN_READWRITE).exec(sql);
    return SheetStore::open(file);
  };
  for (const char* cells : {"[1,", "{}", "", "7", "[\"\\uD800\"]"}) {
    const auto store = damage(fmt::format("UPDATE sheet_row SET cells = '{}'", cells));
    expect_bad_file([&] { store->rows("sweep"); }, "sheet_row.cells");
  }
  expect_bad_file([&] { damage("UPDATE sheet_table SET columns = '{\"T\":1}'")->tables(); },
                  "sheet_table.columns");
  expect_bad_file([&] { damage("UPDATE sheet_plot SET plot = '[]'")->plots(); }, "sheet_plot.plot");
  expect_bad_file([&] { damage("DROP TABLE sheet_row")->rows("sweep"); }, "sheet_row");
}

TEST(Sheet, MembersOfAnotherTypeAreEmptyNotFatal) {
  const fs::path file = sinkscope::test::scratch_directory("sheet-types") / "a.db";
  put(*create(file), 0, {row(1, 1.0)});
  SQLite::Database(file.string(), SQLite::OPEN_READWRITE)
      .exec(
          "UPDATE sheet_row SET cells = '[true, {\"a\": 1}, [1, \"x\"]]';"
          "UPDATE sheet_table SET columns = '[7, [], [\"T\"]]';"
          "UPDATE sheet_plot SET plot = '{\"kind\": 3, \"series\": [1, \"d\"]}'");
  const auto store = SheetStore::open(file);
  const std::vector<SheetCell> cells = store->rows("sweep").at(0).cells;
  EXPECT_TRUE(std::isnan(std::get<double>(cells[0])));
  EXPECT_TRUE(std::isnan(std::get<double>(cells[1])));
  EXPECT_TRUE(std::isnan(std::get<std::vector<double>>(cells[2])[1]));
  EXPECT_EQ(store->tables()[0].columns[0].name, "");
  EXPECT_EQ(store->tables()[0].columns[2].name, "T");
  EXPECT_EQ(store->plots()[0].kind, "");
  EXPECT_EQ(store->plots()[0].series, (std::vector<std::string>{"", "d"}));
}

TEST(Sheet, AStoreOfSchema3IsUpgraded) {
  const fs::path file = sinkscope::test::scratch_directory("sheet-old") / "a.db";
  create(file);
  SQLite::Database(file.string(), SQLite::OPEN_READWRITE)
      .exec(
          "DROP TABLE sheet_table; DROP TABLE sheet_plot; DROP TABLE sheet_row;"
          "DROP TABLE sheet_finding; ALTER TABLE effect DROP COLUMN change_using;"
          "ALTER TABLE effect DROP COLUMN change_other; ALTER TABLE effect DROP COLUMN donor_loss;"
          "PRAGMA user_version = 3");
  put(*create(file), 0, {row(1, 1.0)});
  EXPECT_EQ(SheetStore::open(file)->rows("sweep").size(), 1u);
  EXPECT_GT(SQLite::Database(file.string()).execAndGet("PRAGMA user_version").getInt(), 3);
}

}  // namespace
}  // namespace sinkscope::store
