#include "sinkscope/stats/value_norms.h"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "tests/stats/matrices.h"

namespace sinkscope::stats {
namespace {

constexpr int64_t kHeads = 4, kGroups = 2, kHeadWidth = 6, kWidth = 20, kTokens = 9;

/// ||v|| and ||W_O^h v|| of token `t`, from their definitions in double.
std::pair<double, double> lengths(const at::Tensor& v, const at::Tensor& w_o, int64_t head,
                                  int64_t group, int64_t t) {
  const float* value = v.data_ptr<float>() + (t * v.size(1) + group) * v.size(2);
  double before = 0, after = 0;
  for (int64_t k = 0; k < v.size(2); ++k) before += static_cast<double>(value[k]) * value[k];
  for (int64_t d = 0; d < w_o.size(0); ++d) {
    const float* row = w_o.data_ptr<float>() + d * w_o.size(1) + head * v.size(2);
    double u = 0;
    for (int64_t k = 0; k < v.size(2); ++k) u += static_cast<double>(row[k]) * value[k];
    after += u * u;
  }
  return {std::sqrt(before), std::sqrt(after)};
}

void expect_lengths(const std::vector<ValueNorms>& norms, const at::Tensor& v,
                    const at::Tensor& w_o) {
  ASSERT_EQ(norms.size(), static_cast<size_t>(kHeads));
  for (int64_t head = 0; head < kHeads; ++head) {
    const ValueNorms& of_head = norms[static_cast<size_t>(head)];
    ASSERT_EQ(of_head.head.size(), static_cast<size_t>(kTokens));
    ASSERT_EQ(of_head.out.size(), static_cast<size_t>(kTokens));
    for (int64_t t = 0; t < kTokens; ++t) {
      // Case ATT-2: head h reads group h / (H/G), not h mod G.
      const auto [before, after] = lengths(v, w_o, head, head / (kHeads / kGroups), t);
      EXPECT_NEAR(of_head.head[static_cast<size_t>(t)] / before, 1, 1e-6) << head << " " << t;
      EXPECT_NEAR(of_head.out[static_cast<size_t>(t)] / after, 1, 1e-5) << head << " " << t;
    }
  }
}

TEST(ValueNorms, EqualTheOutputProjectionOfEveryHead) {
  const at::Tensor v = test::random_tensor({kTokens, kGroups, kHeadWidth}, 1);
  const at::Tensor w_o = test::random_tensor({kWidth, kHeads * kHeadWidth}, 2);
  expect_lengths(value_norms(v, output_gram(w_o, kHeads)), v, w_o);
}

TEST(ValueNorms, ProjectionInBfloatIsReadAsItsFloats) {
  const at::Tensor v = test::random_tensor({kTokens, kGroups, kHeadWidth}, 3);
  const at::Tensor half = test::random_tensor({kWidth, kHeads * kHeadWidth}, 4).to(at::kBFloat16);
  expect_lengths(value_norms(v, output_gram(half, kHeads)), v, half.to(at::kFloat));
}

TEST(ValueNorms, GramIsSymmetricAndOfTheHeadsColumns) {
  const at::Tensor w_o = at::zeros({2, 4}, at::kFloat);  // D = 2, two heads of width 2
  float* entry = w_o.data_ptr<float>();
  entry[0] = 1, entry[1] = 2;  // head 0 writes (v0 + 2 v1, 0)
  entry[6] = 3, entry[7] = 0;  // head 1 writes (0, 3 v0)
  const at::Tensor gram = output_gram(w_o, 2).contiguous();
  const float expected[] = {1, 2, 2, 4, 9, 0, 0, 0};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(gram.data_ptr<float>()[i], expected[i]) << i;
}

TEST(ValueNorms, ValuesThatTheProjectionRemovesHaveLengthZero) {
  const at::Tensor v = test::random_tensor({kTokens, kGroups, kHeadWidth}, 5);
  const auto norms =
      value_norms(v, output_gram(at::zeros({kWidth, kHeads * kHeadWidth}, at::kFloat), kHeads));
  for (const ValueNorms& head : norms) {
    EXPECT_EQ(head.out, std::vector<double>(kTokens, 0));
    EXPECT_GT(head.head[0], 0);
  }
}

}  // namespace
}  // namespace sinkscope::stats
