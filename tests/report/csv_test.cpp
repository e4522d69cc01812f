#include "sinkscope/report/csv.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/report/golden.h"
#include "tests/report/sample_run.h"

namespace sinkscope::report {
namespace {

std::string csv_text(const test::Sample& sample) {
  std::ostringstream out;
  write_csv(test::read_sample(sample), out);
  return out.str();
}

/// Rows of fields, by RFC 4180.
std::vector<std::vector<std::string>> parse(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, {""});
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"' && quoted && i + 1 < text.size() && text[i + 1] == '"') {
      rows.back().back() += text[i++];
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (text[i] == ',' && !quoted) {
      rows.back().emplace_back();
    } else if (text[i] == '\n' && !quoted) {
      rows.push_back({""});
    } else {
      rows.back().back() += text[i];
    }
  }
  rows.pop_back();
  return rows;
}

TEST(Csv, IsTheGoldenTable) { test::expect_golden("heads.csv", csv_text({})); }

TEST(Csv, EveryRowHasAFieldPerColumnAndNoDataIsEmpty) {
  const auto rows = parse(csv_text({}));
  ASSERT_EQ(rows.size(), 1u + 16u);
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  const auto column = [&](const std::string& name) {
    return static_cast<size_t>(std::find(rows[0].begin(), rows[0].end(), name) - rows[0].begin());
  };
  EXPECT_EQ(rows[1][column("ratio_out")], "");
  EXPECT_EQ(rows[1][column("class")], "none");
  EXPECT_EQ(rows[10][column("class")], "nop");
  EXPECT_EQ(rows[10][column("ratio_out")], "0.0625");
  EXPECT_EQ(rows[10][column("alpha_0")], "0.625");
  EXPECT_EQ(rows[10][column("event_share")], "1");
}

TEST(Csv, TextThatLooksLikeStructureIsQuoted) {
  test::Sample sample;
  sample.facts.model_path = "a,\"b\"\nc\r.gguf";
  sample.identity.revision = "main";
  sample.identity.step = 1000;
  const auto rows = parse(csv_text(sample));
  ASSERT_EQ(rows.size(), 17u);
  EXPECT_EQ(rows[1][0], "a,\"b\"\nc\r.gguf");
  EXPECT_EQ(rows[1][1], "main");
  EXPECT_EQ(rows[1][2], "1000");
  EXPECT_EQ(rows[1][3], "8");
}

}  // namespace
}  // namespace sinkscope::report
