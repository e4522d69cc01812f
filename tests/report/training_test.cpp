#include <gtest/gtest.h>

#include <sstream>

#include "sinkscope/base/error.h"
#include "sinkscope/report/sheet.h"
#include "tests/report/sample_training.h"

namespace sinkscope::report {
namespace {

std::string run_csv(std::string_view table, std::string_view run) {
  std::ostringstream out;
  write_run_csv(*sample_training(), table, run, out);
  return out.str();
}

TEST(TrainingReport, ItsDocumentHasASchemaOfItsOwn) {
  const auto document = sheet_document(*sample_training());
  std::vector<std::string> keys;
  for (const auto& [key, value] : document.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"schema", "tool", "task", "settings", "tables", "plots",
                                            "findings", "warnings", "timing"}));
  EXPECT_EQ(document["schema"], "sinkscope.train/1");
  EXPECT_EQ(document["task"], "conditional-damping");
  const auto settings = nlohmann::json::parse(R"({"seeds": [0, 1], "steps": 1000})");
  EXPECT_EQ(nlohmann::json(document["settings"]), settings);
  EXPECT_EQ(document["plots"][0]["kind"], "log-x");
  EXPECT_EQ(document["tables"][1]["rows"].size(), 3u);
}

TEST(TrainingReport, TheTerminalShowsResultsAndNamesWhatIsRecordedPerStep) {
  std::ostringstream out;
  write_sheet_terminal(*sample_training(), {}, out);
  const std::string text = out.str();
  EXPECT_NE(text.find("  seed-0   500\n  seed-1   100\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("1.25"), std::string::npos) << text;
  EXPECT_NE(text.find("losses (3 rows), attention (2 rows), spectrum (1 rows)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("both grow a sink"), std::string::npos) << text;
}

TEST(TrainingReport, CsvOfOneRunHasItsRowsAlone) {
  EXPECT_EQ(run_csv("losses", "seed-0"),
            "run,step,loss,rate\nseed-0,0,1.5,0.003\nseed-0,100,0.5,\n");
  EXPECT_EQ(run_csv("losses", "seed-1"), "run,step,loss,rate\nseed-1,0,1.25,0.003\n");
  EXPECT_EQ(run_csv("losses", "seed"), "run,step,loss,rate\n");
}

TEST(TrainingReport, CsvOfOneRunNeedsATableWithRuns) {
  EXPECT_THROW(run_csv("loss", "seed-0"), Error);
  auto sheet = sample_training();
  const store::SheetTable tables[] = {{"bare", "Bare", {{"step", "", ""}}}};
  sheet->put_outline(tables, {});
  try {
    std::ostringstream out;
    write_run_csv(*sheet, "bare", "seed-0", out);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::kUsage);
    EXPECT_NE(error.seen.find("no column \"run\""), std::string::npos) << error.seen;
  }
}

}  // namespace
}  // namespace sinkscope::report
