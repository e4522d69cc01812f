#include <gtest/gtest.h>

#include <cmath>

#include "tests/diagnostics/planted.h"

namespace sinkscope::diagnostics {
namespace {

TEST(UpdateAll, MeasuresHeadsWithoutAnEvent) {
  const auto head =
      test::measure(plant_head("self", {PlantedRows::kSinkSelf, 64, 0.2}, PlantedValues::kUnit));
  EXPECT_EQ(head.value("event"), 0);
  EXPECT_NEAR(head.value("stable_rank_all"), 10.96, 5e-3);
  EXPECT_TRUE(std::isnan(head.value("stable_rank")));
  EXPECT_EQ(head.updates, 1);
}

TEST(UpdateAll, DoesNotSolveAnEventTwice) {
  const auto head =
      test::measure(plant_head("self", {PlantedRows::kSinkSelf, 64, 0.97}, PlantedValues::kUnit));
  EXPECT_EQ(head.value("stable_rank_all"), head.value("stable_rank"));
  EXPECT_EQ(head.value("common_mode_all"), head.value("common_mode"));
  EXPECT_EQ(head.value("update_energy_all"), head.value("update_energy"));
  EXPECT_EQ(head.updates, 1);
}

TEST(UpdateAll, NearMissAHeadWithoutUpdateHasNoData) {
  const auto head = test::measure(test::attention_of({PlantedRows::kSinkEven, 32}));
  EXPECT_TRUE(std::isnan(head.value("stable_rank_all")));
  EXPECT_FALSE(find_diagnostic("update_all").plain);
}

}  // namespace
}  // namespace sinkscope::diagnostics
