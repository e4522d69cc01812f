#include "sinkscope/report/sheet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "sinkscope/base/error.h"

namespace sinkscope::report {
namespace {

using store::SheetPlot;
using store::SheetRow;
using store::SheetTable;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::unique_ptr<store::SheetStore> sample() {
  auto sheet = store::SheetStore::in_memory({{std::string(store::kSheetKey), "\"cost\""},
                                             {"theory.seed", "7"},
                                             {"theory.tokens", "[2,48]"},
                                             {"theory.odd", "no JSON"},
                                             {"seed", "8"}});
  const SheetTable tables[] = {
      {"checks",
       "Checks",
       {{"check", "", "what"}, {"expected", "", ""}, {"measured", "", ""}, {"holds", "", ""}}},
      {"sweep",
       "Least W_QK",
       {{"pattern", "", "which keys win"},
        {"T", "", "tokens"},
        {"cost", "nats", "least norm"},
        {"dual", "", "weights"}}},
      {"empty", "Nothing", {{"a", "", ""}}}};
  const SheetPlot plots[] = {
      {"log-log", "sweep", "Cost", "T", "cost", {"pattern"}, "", "", "", "fits"}};
  sheet->put_outline(tables, plots);
  const SheetRow rows[] = {
      {"sweep", {"sink, \"0\"", 2.0, 1.0 / 3, std::vector<double>{0.5, kNaN, -2}}},
      {"sweep", {"dia</script>\x1b[31m", 16.0, kNaN, std::vector<double>{}}}};
  sheet->put(0, rows);
  const SheetRow concluded[] = {{"checks", {"gap", "0", "0.1", 0.0}}};
  const std::string findings[] = {"A sink is <b>cheaper</b>\x1b[2J."};
  sheet->put_conclusion(concluded, findings);
  sheet->put_fact("tool.version", "\"1.2\"");
  sheet->put_fact("timing.forward_s", "2.5");
  sheet->put_fact("warnings", "[\"slow\"]");
  return sheet;
}

std::string csv(std::string_view table) {
  std::ostringstream out;
  write_sheet_csv(*sample(), table, out);
  return out.str();
}

std::string terminal() {
  std::ostringstream out;
  write_sheet_terminal(*sample(), {}, out);
  return out.str();
}

TEST(SheetReport, DocumentHasTheKeysOfItsSchema) {
  std::ostringstream out;
  write_sheet_json(*sample(), out);
  const auto document = nlohmann::ordered_json::parse(out.str());
  std::vector<std::string> keys;
  for (const auto& [key, value] : document.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"schema", "tool", "what", "settings", "tables", "plots",
                                            "findings", "warnings", "timing"}));
  EXPECT_EQ(document["schema"], "sinkscope.theory/1");
  EXPECT_EQ(document["tool"]["version"], "1.2");
  EXPECT_EQ(document["what"], "cost");
  const auto settings =
      nlohmann::json::parse(R"({"odd": "no JSON", "seed": 7, "tokens": [2, 48]})");
  EXPECT_EQ(nlohmann::json(document["settings"]), settings);
  EXPECT_EQ(document["findings"][0], "A sink is <b>cheaper</b>\x1b[2J.");
  EXPECT_EQ(document["warnings"][0], "slow");
  EXPECT_EQ(document["timing"]["seconds"], 2.5);
}

TEST(SheetReport, DocumentHasEveryTableWithItsCells) {
  const auto document = sheet_document(*sample());
  ASSERT_EQ(document["tables"].size(), 3u);
  const auto& sweep = document["tables"][1];
  EXPECT_EQ(sweep["name"], "sweep");
  EXPECT_EQ(sweep["title"], "Least W_QK");
  EXPECT_EQ(sweep["columns"][2]["name"], "cost");
  EXPECT_EQ(sweep["columns"][2]["unit"], "nats");
  EXPECT_EQ(sweep["columns"][2]["definition"], "least norm");
  const auto& rows = sweep["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0][0], "sink, \"0\"");
  EXPECT_EQ(rows[0][2].get<double>(), 1.0 / 3);
  EXPECT_EQ(rows[0][3].dump(), "[0.5,null,-2.0]");
  EXPECT_TRUE(rows[1][2].is_null());
  EXPECT_EQ(rows[1][3].dump(), "[]");
  EXPECT_EQ(document["tables"][2]["rows"].dump(), "[]");
  const auto& plot = document["plots"][0];
  EXPECT_EQ(plot["kind"], "log-log");
  EXPECT_EQ(plot["table"], "sweep");
  EXPECT_EQ(plot["x"], "T");
  EXPECT_EQ(plot["y"], "cost");
  EXPECT_EQ(plot["series"].dump(), "[\"pattern\"]");
  EXPECT_EQ(plot["fit"], "fits");
}

TEST(SheetReport, CsvIsOneTable) {
  EXPECT_EQ(csv("sweep"),
            "pattern,T,cost,dual\n"
            "\"sink, \"\"0\"\"\",2,0.3333333333333333,0.5 nan -2\n"
            "dia</script>\x1b[31m,16,,\n");
  EXPECT_EQ(csv(""), "check,expected,measured,holds\ngap,0,0.1,0\n");
  EXPECT_EQ(csv("empty"), "a\n");
}

TEST(SheetReport, CsvOfAnUnknownTableNamesTheKnown) {
  try {
    csv("sweeps");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::kUsage);
    EXPECT_NE(error.seen.find("\"sweeps\""), std::string::npos) << error.seen;
    EXPECT_NE(error.hint.find("checks, sweep, empty"), std::string::npos) << error.hint;
  }
}

TEST(SheetReport, TheTerminalHasTablesWithoutListsThenFindings) {
  const std::string text = terminal();
  EXPECT_NE(text.find("\nLeast W_QK\n"
                      "  pattern                T     cost\n"
                      "  sink, \"0\"              2  0.33333\n"
                      "  dia</script>\\x1B[31m  16        -\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Checks\n  check  expected  measured  holds\n"
                      "  gap    0         0.1           0\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("dual"), std::string::npos);
  EXPECT_EQ(text.find("Nothing"), std::string::npos);  // a table without rows
  EXPECT_LT(text.find("Least W_QK"), text.find("Findings"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(SheetReport, NoTextCanLeaveThePage) {
  const std::string bundle =
      "<html><script id=\"data\" type=\"application/json\"></script><script>run()</script></html>";
  std::ostringstream out;
  write_sheet_html(*sample(), bundle, out);
  const std::string html = out.str();
  EXPECT_EQ(std::count(html.begin(), html.end(), '<'),
            std::count(bundle.begin(), bundle.end(), '<'));
  const size_t from = html.find("json\">") + 6;
  const auto data = nlohmann::json::parse(html.substr(from, html.find("</script", from) - from));
  EXPECT_EQ(data["schema"], "sinkscope.theory/1");
  EXPECT_EQ(data["tables"][1]["rows"][1][0], "dia</script>\x1b[31m");
}

}  // namespace
}  // namespace sinkscope::report
