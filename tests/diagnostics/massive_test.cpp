#include <gtest/gtest.h>

#include <cmath>

#include "tests/diagnostics/planted.h"

namespace sinkscope::diagnostics {
namespace {

Record measure_state(const stats::ResidualValues& state, const Thresholds& thresholds = {}) {
  LayerInput input;
  input.residual_out = &state;
  return test::run_layer(input, 0, thresholds);
}

stats::ResidualValues state_with(std::vector<stats::TopActivation> large, double median) {
  stats::ResidualValues state;
  state.norm = {1, 1};
  state.median_abs = median;
  state.large_count = static_cast<int64_t>(large.size());
  state.large = std::move(large);
  return state;
}

TEST(Massive, NeedsBothTheSizeAndTheRatio) {
  const auto count = [](double value, double median) {
    return measure_state(state_with({{7, 0, value}}, median)).find("massive_count", 0)[0];
  };
  EXPECT_EQ(count(-150, 0.1), 1);
  EXPECT_EQ(count(150, 0.2), 0);  // 750 times the median
  EXPECT_EQ(count(90, 0.01), 0);
  EXPECT_EQ(count(100, 0.01), 0);  // strict
  EXPECT_EQ(count(200, 0.2), 0);
  EXPECT_EQ(count(200.1, 0.2), 1);
}

TEST(Massive, AZeroMedianLeavesTheAbsoluteRuleAndIsFlagged) {
  const Record record = measure_state(state_with({{7, 0, 101}}, 0));
  EXPECT_EQ(record.find("massive_count", 0)[0], 1);
  EXPECT_EQ(record.find("median_zero", 0)[0], 1);
  EXPECT_EQ(measure_state(state_with({}, 0.1)).find("median_zero", 0)[0], 0);
}

TEST(Massive, ChannelsByTheirLargestEntry) {
  const Record record = measure_state(state_with({{507, 0, 24900},
                                                  {3, 0, -300},
                                                  {9, 1, 300},
                                                  {3, 2, 200},
                                                  {40, 2, 30000},
                                                  {8, 3, 150},
                                                  {1, 3, 99}},
                                                 0.1));
  const auto channels = record.find("massive_channels", 0);
  ASSERT_EQ(channels.size(), 4u);
  EXPECT_EQ(channels[0], 40);
  EXPECT_EQ(channels[1], 507);
  EXPECT_EQ(channels[2], 3);
  EXPECT_EQ(channels[3], 9);
  EXPECT_EQ(record.find("massive_count", 0)[0], 6);
}

TEST(Massive, FewerChannelsThanSlots) {
  const Record record = measure_state(state_with({{5, 0, 500}}, 0.1));
  EXPECT_EQ(record.find("massive_channels", 0)[0], 5);
  EXPECT_TRUE(std::isnan(record.find("massive_channels", 0)[1]));
}

TEST(Massive, TopActivationsAsChannelPositionValue) {
  stats::ResidualValues state = state_with({}, 0.5);
  state.top = {{{507, 0, -80}, {12, 3, 60}, {507, 3, 50}}};
  const auto top = measure_state(state);
  const std::vector<double> expected = {507, 0, -80, 12, 3, 60, 507, 3, 50};
  const auto found = top.find("top_activations", 0);
  EXPECT_EQ(std::vector<double>(found.begin(), found.end()), expected);
  EXPECT_EQ(top.find("median_abs", 0)[0], 0.5);
  EXPECT_EQ(top.find("massive_count", 0)[0], 0);
}

TEST(Massive, ACappedListSaysThatTheCountIsALowerBound) {
  stats::ResidualValues state = state_with({{7, 0, 500}}, 0.1);
  EXPECT_EQ(measure_state(state).find("massive_capped", 0)[0], 0);
  state.large_count = 5000;
  EXPECT_EQ(measure_state(state).find("massive_capped", 0)[0], 1);
}

TEST(Massive, ThresholdsAreThoseOfTheRun) {
  const auto state = state_with({{7, 0, 500}}, 0.1);
  EXPECT_EQ(measure_state(state, {.massive_abs = 600}).find("massive_count", 0)[0], 0);
  EXPECT_EQ(measure_state(state, {.massive_ratio = 6000}).find("massive_count", 0)[0], 0);
}

TEST(Massive, NoStateNoData) {
  const Record record = test::run_layer({}, 0);
  EXPECT_TRUE(std::isnan(record.find("massive_count", 0)[0]));
}

}  // namespace
}  // namespace sinkscope::diagnostics
