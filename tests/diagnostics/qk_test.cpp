#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/diagnostics/planted.h"

namespace sinkscope::diagnostics {
namespace {

double top_share(std::span<const double> spectrum) {
  LayerInput input;
  input.heads.resize(1);
  input.heads[0].qk_spectrum = spectrum;
  return test::run_layer(input, 1).find("qk_top_share", 0)[0];
}

TEST(Qk, TheShareOfTheLargestSingularValue) {
  EXPECT_EQ(top_share(std::array{3.0}), 1);
  EXPECT_EQ(top_share(std::array{1.0, 1.0, 1.0, 1.0}), 0.25);
}

TEST(Qk, NearMissAHeadThatWasLeftOutHasNoDataNotZero) {
  EXPECT_TRUE(std::isnan(top_share({})));
  EXPECT_TRUE(std::isnan(top_share(std::array{0.0, 0.0})));
}

}  // namespace
}  // namespace sinkscope::diagnostics
