#include "sinkscope/stats/next_token_loss.h"

#include <gtest/gtest.h>

#include "tests/stats/matrices.h"

namespace sinkscope::stats {
namespace {

double loss_of(const at::Tensor& logits, const std::vector<int32_t>& next) {
  double sum = 0;
  for (size_t r = 0; r < next.size(); ++r) {
    if (next[r] < 0) continue;
    const float* row = logits.data_ptr<float>() + static_cast<int64_t>(r) * logits.size(1);
    double total = 0;
    for (int64_t v = 0; v < logits.size(1); ++v)
      total += std::exp(static_cast<double>(row[v]) - row[next[r]]);
    sum += std::log(total);
  }
  return sum;
}

TEST(NextTokenLoss, UniformLogitsCostTheLogOfTheVocabulary) {
  NextTokenLoss loss;
  const std::vector<int32_t> next = {0, 7, 96};
  loss.add(test::random_tensor({3, 97}, 1).mul(0).add(2.5), next);
  EXPECT_EQ(loss.tokens(), 3);
  EXPECT_NEAR(loss.sum(), 3 * std::log(97), 1e-5);
}

TEST(NextTokenLoss, EqualsTheDefinition) {
  const at::Tensor logits = test::random_tensor({6, 50}, 2).mul(4);
  const std::vector<int32_t> next = {3, 0, 49, 8, 8, 20};
  NextTokenLoss loss;
  loss.add(logits, next);
  EXPECT_NEAR(loss.sum(), loss_of(logits, next), 1e-5);
}

TEST(NextTokenLoss, RowsWithoutANextTokenAreSkipped) {
  const at::Tensor logits = test::random_tensor({4, 10}, 3);
  const std::vector<int32_t> next = {-1, 4, -1, 2};
  NextTokenLoss loss;
  loss.add(logits, next);
  EXPECT_EQ(loss.tokens(), 2);
  EXPECT_NEAR(loss.sum(), loss_of(logits, next), 1e-5);
}

TEST(NextTokenLoss, LargeLogitsDoNotOverflow) {
  NextTokenLoss loss;
  const std::vector<int32_t> next = {0, 1};
  loss.add(test::matrix({{300, -300}, {300, -300}}).to(at::kFloat), next);
  EXPECT_NEAR(loss.sum(), 600, 1e-3);
}

TEST(NextTokenLoss, MergeEqualsOnePass) {
  const at::Tensor logits = test::random_tensor({5, 10}, 4);
  const std::vector<int32_t> next = {1, 2, -1, 4, 5};
  NextTokenLoss whole, first, second;
  whole.add(logits, next);
  first.add(logits.narrow(0, 0, 2), std::span(next).first(2));
  second.add(logits.narrow(0, 2, 3), std::span(next).last(3));
  second.merge(first);
  second.merge(NextTokenLoss());
  EXPECT_EQ(second.tokens(), whole.tokens());
  EXPECT_NEAR(second.sum(), whole.sum(), 1e-12);
}

}  // namespace
}  // namespace sinkscope::stats
