#include "sinkscope/diagnostics/summary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sinkscope/base/error.h"

namespace sinkscope::diagnostics {
namespace {

TEST(EffectiveMinQueries, GrowsWithTheLengthUpToTheDefault) {
  const Thresholds defaults;
  EXPECT_EQ(effective_min_queries(4, defaults), 8);  // out of reach: too short
  EXPECT_EQ(effective_min_queries(7, defaults), 8);
  EXPECT_EQ(effective_min_queries(8, defaults), 8);
  EXPECT_EQ(effective_min_queries(10, defaults), 10);
  EXPECT_EQ(effective_min_queries(16, defaults), 16);
  EXPECT_EQ(effective_min_queries(64, defaults), 16);
  EXPECT_EQ(effective_min_queries(4096, defaults), 16);
}

TEST(EffectiveMinQueries, ADiagonalKeyMustNotReachEpsilonByItself) {
  Thresholds thresholds;
  thresholds.epsilon = 0.1;  // floor(1 / 0.1) + 1
  EXPECT_EQ(effective_min_queries(8, thresholds), 11);
  EXPECT_EQ(effective_min_queries(64, thresholds), 16);
  thresholds.epsilon = 0.05;
  EXPECT_EQ(effective_min_queries(64, thresholds), 21);
  thresholds = {.epsilon = 0.3, .min_queries = 1};
  EXPECT_EQ(effective_min_queries(64, thresholds), 4);
  thresholds.min_queries = 32;
  EXPECT_EQ(effective_min_queries(20, thresholds), 20);
}

TEST(CheckThresholds, NamesTheFlagAndTheRange) {
  EXPECT_NO_THROW(check_thresholds({}));
  EXPECT_NO_THROW(check_thresholds({.epsilon = 0.1}));
  const Thresholds refused[] = {
      {.epsilon = 0},
      {.epsilon = 1},
      {.epsilon = kNoData},
      {.min_queries = 0},
      {.min_lift = -1},
      {.event_query_share = 1.5},
      {.event_mass = 0},
      {.nop_ratio = 0.5},
      {.broadcast_ratio = 0.2},
      {.massive_abs = -1},
      {.massive_ratio = INFINITY},
      {.broadcast_stable_rank = 0.5},
  };
  for (const Thresholds& thresholds : refused) EXPECT_THROW(check_thresholds(thresholds), Error);
  try {
    check_thresholds({.epsilon = 30});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::kUsage);
    EXPECT_EQ(error.seen, "--epsilon 30");
    EXPECT_NE(error.hint.find("below 1"), std::string::npos);
  }
}

TEST(SelectDiagnostics, PlainOnesAlwaysTheOthersByName) {
  const auto names = [](std::vector<std::string> wanted) {
    std::string joined;
    for (const Diagnostic* diagnostic : select_diagnostics(wanted)) {
      joined += std::string(diagnostic->name) + " ";
    }
    return joined;
  };
  const std::string plain =
      "sink values update mechanism massive residual branches similarity loss ";
  EXPECT_EQ(names({}), plain);
  EXPECT_EQ(names({"massive"}), plain);
  EXPECT_EQ(names({"qk"}), plain + "qk ");
  std::string every;
  for (const Diagnostic& diagnostic : all_diagnostics())
    every += std::string(diagnostic.name) + " ";
  EXPECT_EQ(names({"qk", "all"}), every);
  EXPECT_THROW(names({"all", "norms"}), Error);
}

TEST(WilsonInterval, EightOfTen) {
  EXPECT_NEAR(wilson_interval(8, 10).low, 0.4902, 5e-5);
  EXPECT_NEAR(wilson_interval(8, 10).high, 0.9433, 5e-5);
}

TEST(WilsonInterval, StaysInsideZeroAndOneAndNeedsData) {
  EXPECT_EQ(wilson_interval(0, 10).low, 0);
  EXPECT_GT(wilson_interval(0, 10).high, 0.2);
  EXPECT_LE(wilson_interval(10, 10).high, 1);
  EXPECT_NEAR(wilson_interval(10, 10).high, 1, 1e-12);
  EXPECT_TRUE(std::isnan(wilson_interval(0, 0).low));
  EXPECT_TRUE(std::isnan(wilson_interval(0, 0).high));
}

TEST(FormationLayer, FirstAboveHalfOfTheLargest) {
  EXPECT_EQ(formation_layer(std::vector{0.0, 0.1, 0.5, 0.9, 1.0}), 3);  // 0.5 is not above half
  EXPECT_EQ(formation_layer(std::vector{0.6, 0.0, 1.0}), 0);
  EXPECT_EQ(formation_layer(std::vector{0.0, 0.05}), 1);
}

TEST(FormationLayer, NoneBelowTheFloorAndUnmeasuredLayersAreSkipped) {
  EXPECT_EQ(formation_layer(std::vector{0.01, 0.049}), -1);
  EXPECT_EQ(formation_layer({}), -1);
  EXPECT_EQ(formation_layer(std::vector{kNoData, kNoData}), -1);
  EXPECT_EQ(formation_layer(std::vector{kNoData, 0.1, kNoData, 0.8}), 3);
}

TEST(ClassName, OfEveryCode) {
  EXPECT_EQ(class_name(HeadClass::kNone), "none");
  EXPECT_EQ(class_name(HeadClass::kNop), "nop");
  EXPECT_EQ(class_name(HeadClass::kBroadcast), "broadcast");
  EXPECT_EQ(class_name(HeadClass::kOther), "other");
  EXPECT_EQ(class_name(HeadClass::kTooShort), "too_short");
}

TEST(Placement, OfASinkInTheFirstLayers) {
  const std::vector<double> rate0 = {0.1, 0.4, 0.6, 0.8}, rate1 = {0, 0.1, 0, 0};
  const Placement found = placement(rate0, rate1);
  EXPECT_DOUBLE_EQ(found.concentration, 0.75);
  EXPECT_DOUBLE_EQ(found.displacement, 0.1 / 2.0);
  EXPECT_DOUBLE_EQ(found.reading, 0.75 * 0.95);
}

TEST(Placement, ShallowModelsAndAbsentSinks) {
  using V = std::vector<double>;
  EXPECT_DOUBLE_EQ(placement(V{0.2, 0.4}, V{0, 0}).concentration, 1);  // the last of two layers
  const Placement none = placement(V{0.01, 0.04, 0.02}, V{0, 0, 0});
  EXPECT_EQ(none.reading, 0);
  EXPECT_DOUBLE_EQ(none.concentration, 0.5);
  const Placement zero = placement(V{0, 0, 0}, V{0, 0, 0});
  EXPECT_TRUE(std::isnan(zero.concentration) && std::isnan(zero.displacement));
  EXPECT_EQ(zero.reading, 0);
  EXPECT_TRUE(std::isnan(placement(V{0.5, 0.5, kNoData}, V{0, 0, kNoData}).reading));
  EXPECT_TRUE(std::isnan(placement(V{}, V{}).reading));
}

}  // namespace
}  // namespace sinkscope::diagnostics
