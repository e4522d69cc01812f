#include "sinkscope/diagnostics/specialisation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sinkscope/diagnostics/diagnostic.h"
#include "sinkscope/diagnostics/summary.h"

namespace sinkscope::diagnostics {
namespace {

TEST(Habit, ByTheShareOfInputs) {
  EXPECT_EQ(head_habit(24, 30), Habit::kSpecialist);  // exactly 0.8
  EXPECT_EQ(head_habit(23, 30), Habit::kContingent);
  EXPECT_EQ(head_habit(2, 40), Habit::kIdle);  // exactly 0.05
  EXPECT_EQ(head_habit(3, 40), Habit::kContingent);
  EXPECT_EQ(head_habit(29, 29), Habit::kTooFew);
  EXPECT_EQ(head_habit(0, 0), Habit::kTooFew);
}

// method.md section 14.
TEST(Habit, IntervalOfEightInTen) {
  const Interval interval = wilson_interval(8, 10);
  EXPECT_NEAR(interval.low, 0.4902, 5e-5);
  EXPECT_NEAR(interval.high, 0.9433, 5e-5);
}

int transition(const std::vector<double>& share, const std::vector<int64_t>& events) {
  return transition_layer(share, events);
}

// method.md section 14.
TEST(TransitionLayer, TheFirstFromWhichTheSinkStaysAway) {
  const std::vector<int64_t> many(4, 100);
  EXPECT_EQ(transition({1, 0.9, 0.4, 0.2}, many), 2);
  EXPECT_EQ(transition({1, 0.4, 0.9, 0.1}, many), 3);
  EXPECT_EQ(transition({0.5, 0.1, 0, 0}, many), 0);  // one half is enough
  EXPECT_EQ(transition({0.1, 0.1, 0.1, 0.6}, many), -1);
}

TEST(TransitionLayer, LayersWithFewEventsArePassedOver) {
  EXPECT_EQ(transition({1, 0.4, 0.9, 0.1}, {100, 100, 19, 100}), 1);
  EXPECT_EQ(transition({1, 0.4, 0.9, 0.1}, {100, 19, 20, 100}), 3);
  EXPECT_EQ(transition({1, kNoData, 0, kNoData}, {100, 0, 100, 0}), 2);
  EXPECT_EQ(transition({}, {}), -1);
}

TEST(RankCorrelation, OfRanksWithTies) {
  using V = std::vector<double>;
  EXPECT_DOUBLE_EQ(rank_correlation(V{1, 2, 30}, V{0.1, 5, 6}), 1);
  EXPECT_DOUBLE_EQ(rank_correlation(V{1, 2, 3}, V{3, 2, 1}), -1);
  // Ranks (0.5, 0.5, 2, 3) and (0, 1.5, 1.5, 3): covariance 3.75 over 4.5.
  EXPECT_DOUBLE_EQ(rank_correlation(V{0, 0, 4, 9}, V{-1, 7, 7, 8}), 3.75 / 4.5);
  EXPECT_TRUE(std::isnan(rank_correlation(V{1, 1}, V{1, 2})));
  EXPECT_TRUE(std::isnan(rank_correlation(V{}, V{})));
}

TEST(Halves, AreAboutEquallyLargeAndNotEveryOther) {
  int second = 0, changes = 0;
  for (int64_t id = 0; id < 1000; ++id) {
    second += in_second_half(id);
    changes += in_second_half(id) != in_second_half(id + 1);
  }
  EXPECT_NEAR(second, 500, 60);
  EXPECT_NEAR(changes, 500, 60);
}

}  // namespace
}  // namespace sinkscope::diagnostics
