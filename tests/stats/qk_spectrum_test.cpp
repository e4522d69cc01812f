#include "sinkscope/stats/qk_spectrum.h"

#include <ATen/ops/linalg_svdvals.h>
#include <ATen/ops/matmul.h>
#include <gtest/gtest.h>

#include "tests/stats/matrices.h"

namespace sinkscope::stats {
namespace {

/// Against the singular values of the D x D product itself.
void expect_spectrum(const at::Tensor& w_q, const at::Tensor& w_k, int64_t heads,
                     int64_t kv_heads) {
  const int64_t width = w_q.size(0) / heads;
  const auto spectra = qk_spectrum(w_q, w_k, heads, kv_heads);
  ASSERT_EQ(spectra.size(), static_cast<size_t>(heads));
  for (int64_t head = 0; head < heads; ++head) {
    const at::Tensor q = w_q.narrow(0, head * width, width).to(at::kDouble);
    const at::Tensor k = w_k.narrow(0, head / (heads / kv_heads) * width, width).to(at::kDouble);
    const at::Tensor sigma = at::linalg_svdvals(at::matmul(q.t(), k));
    const auto& got = spectra[static_cast<size_t>(head)];
    ASSERT_EQ(got.size(), static_cast<size_t>(width));
    const double largest = sigma.data_ptr<double>()[0];
    for (int64_t i = 0; i < width; ++i) {
      const double expected = i < sigma.size(0) ? sigma.data_ptr<double>()[i] : 0;
      EXPECT_NEAR(got[static_cast<size_t>(i)], expected, 2e-8 * largest) << head << " " << i;
    }
  }
}

// Theta = Wq^T Wk, of which q . k = x^T Theta y; Wq Wk^T would give 1 here.
TEST(QkSpectrum, OrientationOfTheProduct) {
  const at::Tensor w_q = test::matrix({{1, 0}, {0, 0}}), w_k = test::matrix({{0, 0}, {1, 0}});
  EXPECT_EQ(qk_spectrum(w_q, w_k, 1, 1), (std::vector<std::vector<double>>{{0, 0}}));
}

TEST(QkSpectrum, RankOne) {
  const at::Tensor w_q = test::matrix({{3, 4, 0}, {0, 0, 0}}),
                   w_k = test::matrix({{0, 0, 2}, {5, 5, 5}});
  const auto spectrum = qk_spectrum(w_q, w_k, 1, 1).at(0);
  EXPECT_NEAR(spectrum[0], 10, 1e-12);  // |(3, 4, 0)| |(0, 0, 2)|
  EXPECT_NEAR(spectrum[1], 0, 1e-7);
}

TEST(QkSpectrum, EqualsTheSingularValuesOfTheProduct) {
  expect_spectrum(test::random_tensor({3 * 8, 24}, 1), test::random_tensor({3 * 8, 24}, 2), 3, 3);
}

TEST(QkSpectrum, QueryHeadsShareTheKeysOfTheirGroup) {
  expect_spectrum(test::random_tensor({4 * 5, 16}, 3), test::random_tensor({2 * 5, 16}, 4), 4, 2);
}

TEST(QkSpectrum, HeadsWiderThanTheModel) {
  expect_spectrum(test::random_tensor({2 * 6, 4}, 5), test::random_tensor({6, 4}, 6), 2, 1);
}

TEST(QkSpectrum, WeightsInBfloat) {
  expect_spectrum(test::random_tensor({8, 12}, 7).to(at::kBFloat16),
                  test::random_tensor({8, 12}, 8).to(at::kBFloat16), 2, 2);
}

}  // namespace
}  // namespace sinkscope::stats
