#include <gtest/gtest.h>

#include <cmath>

#include "sinkscope/stats/range_values.h"
#include "tests/diagnostics/planted.h"

namespace sinkscope::diagnostics {
namespace {

/// One layer whose heads have the given patterns.
Record measure_range(const stats::RangeValues& range, const std::vector<PlantedRows>& heads) {
  std::vector<stats::AttentionValues> attention;
  for (const PlantedRows rows : heads) {
    attention.push_back(test::attention_of({.rows = rows, .tokens = 32}));
  }
  LayerInput input;
  input.tokens = 32;
  input.range = &range;
  input.heads.resize(heads.size());
  for (size_t h = 0; h < heads.size(); ++h) input.heads[h].attention = &attention[h];
  return test::run_layer(input, static_cast<int>(heads.size()));
}

stats::RangeValues range_with(std::vector<int64_t>& asked) {
  stats::RangeValues range;
  range.int8 = [&asked](std::span<const int64_t> sinks) {
    asked.assign(sinks.begin(), sinks.end());
    stats::Int8Values values;
    values.bits_lost = sinks.empty() ? 0 : 6.5;
    values.error = 0.75, values.error_without = 0.01, values.bits_lost_normed = 2;
    return values;
  };
  return range;
}

TEST(Range, SinkTokensAreThoseOfTheHeadsOfTheBlock) {
  std::vector<int64_t> asked;
  const stats::RangeValues range = range_with(asked);
  const Record record =
      measure_range(range, {PlantedRows::kUniform, PlantedRows::kSinkEven, PlantedRows::kHalfSink});
  EXPECT_EQ(asked, (std::vector<int64_t>{0}));
  EXPECT_EQ(record.find("range_sink_tokens", 0)[0], 1);
  EXPECT_EQ(record.find("int8_bits_lost", 0)[0], 6.5);
  EXPECT_EQ(record.find("int8_bits_lost_normed", 0)[0], 2);
  EXPECT_EQ(record.find("int8_error", 0)[0], 0.75);
  EXPECT_EQ(record.find("int8_error_without", 0)[0], 0.01);
}

TEST(Range, NearMissNoHeadSinks) {
  std::vector<int64_t> asked = {9};
  const stats::RangeValues range = range_with(asked);
  const Record record = measure_range(range, {PlantedRows::kUniform, PlantedRows::kPrevious});
  EXPECT_TRUE(asked.empty());
  EXPECT_EQ(record.find("range_sink_tokens", 0)[0], 0);
  EXPECT_EQ(record.find("int8_bits_lost", 0)[0], 0);
}

TEST(Range, OverflowsOfEverySiteAndTheChannelOfTheFirst) {
  std::vector<int64_t> asked;
  stats::RangeValues range = range_with(asked);
  range.sites[0] = {70, 4, 0};
  range.sites[2] = {90000, 11, 2};  // the MLP; this block has no state between the branches
  range.sites[3] = {95000, 12, 3};
  const Record record = measure_range(range, {});
  EXPECT_EQ(record.find("max_abs_attn_out", 0)[0], 70);
  EXPECT_TRUE(std::isnan(record.find("max_abs_resid_mid", 0)[0]));
  EXPECT_EQ(record.find("max_abs_resid_post", 0)[0], 95000);
  EXPECT_EQ(record.find("fp16_overflows", 0)[0], 5);
  EXPECT_EQ(record.find("fp16_overflow_channel", 0)[0], 11);
  range.sites[2].beyond_half = range.sites[3].beyond_half = 0;
  const Record none = measure_range(range, {});
  EXPECT_EQ(none.find("fp16_overflows", 0)[0], 0);
  EXPECT_TRUE(std::isnan(none.find("fp16_overflow_channel", 0)[0]));
}

TEST(Range, NotMeasuredIsNoData) {
  const Record record = test::run_layer({}, 0);
  EXPECT_TRUE(std::isnan(record.find("fp16_overflows", 0)[0]));
  EXPECT_TRUE(std::isnan(record.find("int8_bits_lost", 0)[0]));
}

}  // namespace
}  // namespace sinkscope::diagnostics
