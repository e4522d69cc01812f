#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/diagnostics/planted.h"

namespace sinkscope::diagnostics {
namespace {

double top_share(std::span<const double> spectrum) {
  LayerInput input;
  input.heads.resize(1);
  input.heads[0].qk_spectrum_plain = spectrum;
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

TEST(Qk, TheGapIsMeasuredWithAndWithoutTheGain) {
  constexpr std::array kFolded = {6.0, 2.0}, kPlain = {3.0, 2.0}, kRankOne = {3.0, 0.0};
  LayerInput input;
  input.heads.resize(2);
  input.heads[0].qk_spectrum = kFolded, input.heads[0].qk_spectrum_plain = kPlain;
  input.heads[1].qk_spectrum = kRankOne, input.heads[1].qk_spectrum_plain = kRankOne;
  const Record record = test::run_layer(input, 2);
  EXPECT_EQ(record.find("qk_sigma_1", 0)[0], 6);
  EXPECT_EQ(record.find("qk_sigma_ratio", 0)[0], 3);
  EXPECT_EQ(record.find("qk_sigma_ratio_plain", 0)[0], 1.5);
  EXPECT_TRUE(std::isnan(record.find("qk_sigma_ratio", 0)[1]));  // no second direction at all
}

}  // namespace
}  // namespace sinkscope::diagnostics
