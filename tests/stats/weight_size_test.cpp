#include "sinkscope/stats/weight_size.h"

#include <ATen/ops/linalg_svdvals.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/stats/matrices.h"

namespace sinkscope::stats {
namespace {

TEST(WeightSize, EqualsTheSingularValuesOfTheMap) {
  constexpr int64_t kHeads = 4, kGroups = 2, kHeadWidth = 5, kWidth = 16;
  const at::Tensor w_v = test::random_tensor({kGroups * kHeadWidth, kWidth}, 1),
                   w_o = test::random_tensor({kWidth, kHeads * kHeadWidth}, 2);
  const auto sizes = weight_size(w_v, w_o, kHeads, kGroups, 0.25);
  ASSERT_EQ(sizes.size(), static_cast<size_t>(kHeads));
  for (int64_t head = 0; head < kHeads; ++head) {
    const at::Tensor o = w_o.narrow(1, head * kHeadWidth, kHeadWidth).to(at::kDouble),
                     v = w_v.narrow(0, head / 2 * kHeadWidth, kHeadWidth).to(at::kDouble);
    const at::Tensor sigma = at::linalg_svdvals(at::matmul(o, v));
    const WeightSizeValues& size = sizes[static_cast<size_t>(head)];
    EXPECT_NEAR(size.vo_nuclear, sigma.sum().item<double>(), 1e-5);
    EXPECT_NEAR(size.vo_frobenius, sigma.norm().item<double>(), 1e-7);
    EXPECT_EQ(size.score_scale, 0.25);
  }
}

// v = (x_1, x_0) is written to channels 0 and 1 at twice its length: singular values 2 and 2.
TEST(WeightSize, TwoChannelsThatChangePlaces) {
  const auto size = weight_size(test::matrix({{0, 1, 0}, {1, 0, 0}}),
                                test::matrix({{2, 0}, {0, 2}, {0, 0}}), 1, 1, 1)
                        .at(0);
  EXPECT_NEAR(size.vo_nuclear, 4, 1e-12);
  EXPECT_NEAR(size.vo_frobenius, std::sqrt(8.0), 1e-12);
}

TEST(WeightSize, ZeroWeights) {
  const auto size =
      weight_size(at::zeros({2, 3}, at::kFloat), at::zeros({3, 2}, at::kFloat), 1, 1, 1).at(0);
  EXPECT_EQ(size.vo_nuclear, 0);
  EXPECT_EQ(size.vo_frobenius, 0);
}

}  // namespace
}  // namespace sinkscope::stats
