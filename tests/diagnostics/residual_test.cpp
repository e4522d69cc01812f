#include <gtest/gtest.h>

#include <cmath>

#include "tests/diagnostics/planted.h"

namespace sinkscope::diagnostics {
namespace {

Record measure_norms(std::vector<double> after, std::vector<double> embedding, int layer = 0) {
  stats::ResidualValues out, in;
  out.norm = std::move(after);
  in.norm = std::move(embedding);
  LayerInput input;
  input.layer = layer;
  input.residual_out = &out;
  input.residual_in = &in;
  return test::run_layer(input, 0);
}

TEST(Residual, ALoudFirstTokenAgainstTheRest) {
  const Record record = measure_norms({300, 4, 1, 3, 100}, {5, 2, 2, 2, 2});
  EXPECT_EQ(record.find("resid_norm_p0", 0)[0], 300);
  EXPECT_EQ(record.find("resid_norm_median", 0)[0], 3.5);  // mean of the middle two, 3 and 4
  EXPECT_EQ(record.find("resid_norm_mean_rest", 0)[0], 27);
  EXPECT_DOUBLE_EQ(record.find("resid_norm_ratio", 0)[0], 300 / 3.5);
  EXPECT_EQ(record.find("embed_norm_p0", 0)[0], 5);
  EXPECT_EQ(record.find("embed_norm_ratio", 0)[0], 2.5);
}

TEST(Residual, NearMissALoudSecondTokenDoesNotMoveTheMedian) {
  const Record record = measure_norms({1, 900, 1, 1}, {1, 1, 1, 1});
  EXPECT_EQ(record.find("resid_norm_ratio", 0)[0], 1);
  EXPECT_EQ(record.find("resid_norm_median", 0)[0], 1);  // odd count: the middle one
}

TEST(Residual, TheEmbeddingIsMeasuredInLayerZeroOnly) {
  const Record record = measure_norms({1, 1}, {9, 9}, 1);
  EXPECT_TRUE(record.find("embed_norm_p0", 0).empty());
  EXPECT_EQ(record.find("resid_norm_p0", 1)[0], 1);
}

TEST(Residual, OneTokenHasNoRest) {
  const Record record = measure_norms({7}, {2});
  EXPECT_EQ(record.find("resid_norm_p0", 0)[0], 7);
  EXPECT_TRUE(std::isnan(record.find("resid_norm_median", 0)[0]));
  EXPECT_TRUE(std::isnan(record.find("resid_norm_mean_rest", 0)[0]));
  EXPECT_TRUE(std::isnan(record.find("resid_norm_ratio", 0)[0]));
}

TEST(Residual, NoInfiniteRatio) {
  EXPECT_TRUE(std::isnan(measure_norms({7, 0, 0}, {1, 1, 1}).find("resid_norm_ratio", 0)[0]));
}

}  // namespace
}  // namespace sinkscope::diagnostics
