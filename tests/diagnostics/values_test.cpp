#include <gtest/gtest.h>

#include <cmath>

#include "tests/diagnostics/planted.h"

namespace sinkscope::diagnostics {
namespace {

/// Ratios of a head whose dominant key is 0, with the given value lengths.
test::Measured with_norms(stats::ValueNorms norms) {
  const auto tokens = static_cast<int64_t>(norms.head.size());
  const auto attention = test::attention_of({PlantedRows::kSinkEven, tokens});
  test::Measured measured;
  LayerInput input;
  input.heads.resize(1);
  input.heads[0].attention = &attention;
  input.heads[0].norms = &norms;
  measured.record = test::run_layer(input, 1);
  return measured;
}

std::vector<double> lengths(size_t tokens, double sink, double rest) {
  std::vector<double> norms(tokens, rest);
  norms[0] = sink;
  return norms;
}

TEST(Values, AShortSinkValue) {
  const auto head = with_norms({lengths(32, 0.1, 1), lengths(32, 0.6, 2)});
  EXPECT_DOUBLE_EQ(head.value("ratio_head"), 0.1);
  EXPECT_DOUBLE_EQ(head.value("ratio_out"), 0.3);
  EXPECT_EQ(head.value("degenerate"), 0);
}

TEST(Values, TheSinkItselfIsNotInTheMean) {
  std::vector<double> norms(32, 1);
  norms[0] = 1000;
  norms[1] = 32;  // mean of the others: (32 + 30) / 31 = 2
  EXPECT_DOUBLE_EQ(with_norms({norms, norms}).value("ratio_out"), 500);
}

TEST(Values, NearMissAZeroValueAmongOthersIsNotDegenerate) {
  const auto head = with_norms({lengths(32, 0, 1), lengths(32, 0, 1)});
  EXPECT_EQ(head.value("ratio_out"), 0);
  EXPECT_EQ(head.value("degenerate"), 0);
}

TEST(Values, AllZeroIsRatioOneAndDegenerate) {
  const auto head = with_norms({lengths(32, 0, 0), lengths(32, 0, 0)});
  EXPECT_EQ(head.value("ratio_head"), 1);
  EXPECT_EQ(head.value("ratio_out"), 1);
  EXPECT_EQ(head.value("degenerate"), 1);
}

TEST(Values, AZeroOutputProjectionLeavesTheHeadRatioAlone) {
  const auto head = with_norms({lengths(32, 0.5, 1), lengths(32, 0, 0)});
  EXPECT_EQ(head.value("ratio_head"), 0.5);
  EXPECT_EQ(head.value("ratio_out"), 1);
  EXPECT_EQ(head.value("degenerate"), 1);
}

TEST(Values, OnlyTheSinkHasALength) {
  EXPECT_DOUBLE_EQ(with_norms({lengths(32, 2, 0), lengths(32, 2, 0)}).value("ratio_out"), 2e12);
}

TEST(Values, OneTokenHasNoRatio) {
  // A single query judges its only key when the rule allows it; there is still nothing to compare.
  const auto attention = test::attention_of({PlantedRows::kUniform, 1});
  const stats::ValueNorms norms{{1}, {1}};
  LayerInput input;
  input.heads.resize(1);
  input.heads[0].attention = &attention;
  input.heads[0].norms = &norms;
  Record record(1, 1);
  record.values(*find_metric("sink_index"), 0)[0] = 0;
  find_diagnostic("values").measure_layer(input, {}, record);
  EXPECT_TRUE(std::isnan(record.find("ratio_head", 0)[0]));
  EXPECT_TRUE(std::isnan(record.find("ratio_out", 0)[0]));
  EXPECT_TRUE(std::isnan(record.find("degenerate", 0)[0]));
}

TEST(Values, ATooShortHeadHasNoRatio) {
  EXPECT_TRUE(std::isnan(with_norms({lengths(4, 1, 1), lengths(4, 1, 1)}).value("ratio_out")));
}

TEST(Values, TheSinkLogitHasNoValue) {
  stats::AttentionValues attention = test::empty_attention(32);
  const std::vector<double> row(32, 0.1 / 32);
  for (int64_t i = 0; i < 32; ++i) test::add_row(attention, row, i, 0, 32);
  const stats::ValueNorms norms{lengths(32, 1, 1), lengths(32, 1, 1)};
  LayerInput input;
  input.heads.resize(1);
  input.heads[0].attention = &attention;
  input.heads[0].norms = &norms;
  const Record record = test::run_layer(input, 1);
  EXPECT_EQ(record.find("sink_index", 0)[0], -1);
  EXPECT_EQ(record.find("ratio_out", 0)[0], 0);
  EXPECT_EQ(record.find("class", 0)[0], static_cast<double>(HeadClass::kNop));
}

}  // namespace
}  // namespace sinkscope::diagnostics
