#include <gtest/gtest.h>

#include <cmath>

#include "tests/diagnostics/planted.h"

namespace sinkscope::diagnostics {
namespace {

double top_share(double measured) {
  LayerInput input;
  input.heads.resize(1);
  input.heads[0].qk_top_share = measured;
  return test::run_layer(input, 1).find("qk_top_share", 0)[0];
}

TEST(Qk, TheShareOfTheLargestSingularValue) {
  EXPECT_EQ(top_share(1), 1);
  EXPECT_EQ(top_share(0.125), 0.125);
}

TEST(Qk, NearMissAHeadThatWasLeftOutHasNoDataNotZero) {
  EXPECT_TRUE(std::isnan(top_share(0)));
  EXPECT_TRUE(std::isnan(top_share(kNoData)));
}

}  // namespace
}  // namespace sinkscope::diagnostics
