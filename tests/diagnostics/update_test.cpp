#include "sinkscope/diagnostics/update.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/diagnostics/planted.h"

namespace sinkscope::diagnostics {
namespace {

/// Orthonormal values, A = (1 - mass) I + mass 1 e_0^T, 64 tokens.
PlantedHead self_head(double mass) {
  return plant_head("self", {PlantedRows::kSinkSelf, 64, mass}, PlantedValues::kUnit);
}

TEST(Update, OneDirectionWhereEveryQueryReadsTheSink) {
  const auto head = test::measure(self_head(0.97));
  EXPECT_NEAR(head.value("stable_rank"), 1.000926, 5e-7);
  EXPECT_NEAR(head.value("common_mode"), 0.999060, 5e-7);
  EXPECT_NEAR(head.value("update_energy"), 63 * (0.97 * 0.97 + 0.03 * 0.03) + 1, 1e-9);
  EXPECT_EQ(head.updates, 1);
}

TEST(Update, NearMissManyDirections) {
  const auto head = test::measure(self_head(0.5));
  EXPECT_NEAR(head.value("stable_rank"), 1.913421, 5e-7);
  EXPECT_NEAR(head.value("common_mode"), 0.515385, 5e-7);
}

TEST(Update, IsNotAskedWithoutAnEvent) {
  const auto head = test::measure(self_head(0.49));
  EXPECT_EQ(head.value("event"), 0);
  EXPECT_TRUE(std::isnan(head.value("stable_rank")));
  EXPECT_TRUE(std::isnan(head.value("update_energy")));
}

TEST(Update, AZeroUpdateHasNoRank) {
  const auto head = test::measure(
      plant_head("zero", {PlantedRows::kSinkEven, 32, 1, false}, PlantedValues::kZero));
  EXPECT_EQ(head.value("event"), 1);
  EXPECT_TRUE(std::isnan(head.value("stable_rank")));
  EXPECT_TRUE(std::isnan(head.value("common_mode")));
}

TEST(Update, TheTwinOfTheTestsAgreesWithHandValues) {
  PlantedHead head;
  head.tokens = head.width = 2;
  head.attention = {1, 0, 0, 1};
  head.values = {2, 0, 0, 1};
  EXPECT_NEAR(test::update_of(head).stable_rank, 1.25, 1e-12);
  head.values = {1, 2, 1, 2};
  EXPECT_NEAR(test::update_of(head).stable_rank, 1, 1e-12);
  EXPECT_NEAR(test::update_of(head).common_mode, 1, 1e-12);
  head.values = {1, 2, -1, -2};
  EXPECT_NEAR(test::update_of(head).common_mode, 0, 1e-12);
  EXPECT_NEAR(test::update_of(self_head(0)).stable_rank, 64, 1e-9);
  EXPECT_NEAR(test::update_of(self_head(0.2)).stable_rank, 10.96, 5e-3);
}

}  // namespace
}  // namespace sinkscope::diagnostics
