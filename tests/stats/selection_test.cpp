#include "sinkscope/stats/selection.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sinkscope::stats {
namespace {

TEST(Selection, ASmallKeyThatEveryQueryPointsAt) {
  at::Tensor q = at::zeros({4, 3}), k = at::ones({4, 3});
  q.select(1, 0).copy_(at::tensor({1.0f, 2.0f, 3.0f, 4.0f}));
  k[0].zero_();
  k[0][0] = 0.5f;
  at::Tensor x = at::ones({4, 8});
  x[0].fill_(6);
  const SelectionValues values = selection_values(q, k, 0, input_norms(x, 100, 1000));
  EXPECT_NEAR(values.key_norm_ratio, 0.5 / std::sqrt(3.0), 1e-7);
  EXPECT_NEAR(values.query_key_cosine, 1, 1e-7);
  EXPECT_NEAR(values.query_stable_rank, 1, 1e-7);
  EXPECT_NEAR(values.input_norm_ratio, 6, 1e-6);
  EXPECT_FALSE(values.input_massive);
  // Near miss: another key is no outlier, and queries do not point at it alone.
  const SelectionValues other = selection_values(q, k, 2, input_norms(x, 100, 1000));
  EXPECT_NEAR(other.input_norm_ratio, 1, 1e-6);
  EXPECT_NEAR(other.query_key_cosine, 1 / std::sqrt(3.0), 1e-7);
}

TEST(Selection, AMassiveChannelIsFoundWhereItIs) {
  at::Tensor x = at::full({5, 16}, 0.1f);
  x[2][7] = 150;
  const InputNorms norms = input_norms(x, 100, 1000);
  EXPECT_EQ(norms.massive, (std::vector<bool>{false, false, true, false, false}));
  x[2][7] = 90;  // near miss: not large enough
  EXPECT_FALSE(input_norms(x, 100, 1000).massive[2]);
}

TEST(Selection, NothingToCompareIsNoNumber) {
  const at::Tensor one = at::ones({1, 3}), x = at::zeros({1, 4});
  const SelectionValues alone = selection_values(one, one, 0, input_norms(x, 100, 1000));
  EXPECT_TRUE(std::isnan(alone.key_norm_ratio));
  EXPECT_TRUE(std::isnan(alone.input_norm_ratio));
  const at::Tensor zero = at::zeros({3, 3});
  const SelectionValues zeros =
      selection_values(zero, zero, 0, input_norms(at::zeros({3, 4}), 100, 1000));
  EXPECT_TRUE(std::isnan(zeros.key_norm_ratio));
  EXPECT_EQ(zeros.query_key_cosine, 0);
  EXPECT_TRUE(
      selection_values(zero, zero, -1, input_norms(at::zeros({3, 4}), 100, 1000)).learned_logit);
}

}  // namespace
}  // namespace sinkscope::stats
