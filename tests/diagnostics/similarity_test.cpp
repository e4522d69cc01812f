#include <gtest/gtest.h>

#include <cmath>

#include "tests/diagnostics/planted.h"

namespace sinkscope::diagnostics {
namespace {

Record measure_cosines(const stats::SimilarityValues& values) {
  LayerInput input;
  input.normed_in = &values;
  return test::run_layer(input, 0);
}

TEST(Similarity, AnOpposedFirstToken) {
  const Record record = measure_cosines({{1, -0.5, -0.1, -0.3}, 0.2, 0.6});
  EXPECT_EQ(record.find("cos_p0_max", 0)[0], -0.1);  // not the 1 of the token with itself
  EXPECT_DOUBLE_EQ(record.find("cos_p0_mean", 0)[0], -0.3);
  EXPECT_EQ(record.find("cos_p0_share_nonpositive", 0)[0], 1);
  EXPECT_EQ(record.find("cos_pair_mean", 0)[0], 0.2);
  EXPECT_EQ(record.find("cos_pair_mean_rest", 0)[0], 0.6);
}

TEST(Similarity, NearMissOneTokenOnTheOtherSide) {
  const Record record = measure_cosines({{1, -0.5, 0, 0.1, -0.2}, 0, 0});
  EXPECT_EQ(record.find("cos_p0_max", 0)[0], 0.1);
  EXPECT_EQ(record.find("cos_p0_share_nonpositive", 0)[0], 0.75);  // 0 counts as not positive
}

TEST(Similarity, OneTokenHasNoData) {
  const Record record = measure_cosines({{1}, kNoData, kNoData});
  EXPECT_TRUE(std::isnan(record.find("cos_p0_max", 0)[0]));
  EXPECT_TRUE(std::isnan(record.find("cos_p0_share_nonpositive", 0)[0]));
  EXPECT_TRUE(std::isnan(record.find("cos_pair_mean", 0)[0]));
}

}  // namespace
}  // namespace sinkscope::diagnostics
