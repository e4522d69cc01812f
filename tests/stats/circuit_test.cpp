#include "sinkscope/stats/circuit.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/stats/matrices.h"

namespace sinkscope::stats {
namespace {

using test::random_tensor;

TEST(TrackedPositions, FirstFourThenPowersOfTwo) {
  EXPECT_EQ(tracked_positions(1), (std::vector<int64_t>{0}));
  EXPECT_EQ(tracked_positions(4), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(tracked_positions(16), (std::vector<int64_t>{0, 1, 2, 3, 4, 8}));
  EXPECT_EQ(tracked_positions(17), (std::vector<int64_t>{0, 1, 2, 3, 4, 8, 16}));
  EXPECT_EQ(tracked_positions(4096).size(), 14u);
}

TEST(RowTurns, AngleOfEachRow) {
  const std::vector<float> x = {1, 0, 2, 0, 0, 0, 5, 0}, y = {0, 3, 2, 0, 1, 1, 5, 5e-3f};
  std::vector<double> turn, error;
  row_turns(x.data(), y.data(), 4, 2, turn, error);
  EXPECT_NEAR(turn[0], std::sqrt(2.0), 1e-15);
  EXPECT_EQ(turn[1], 0);
  EXPECT_TRUE(std::isnan(turn[2]));  // nothing to turn
  EXPECT_NEAR(turn[3], 1e-3, 1e-9);
  EXPECT_NEAR(error[3], 5e-7, 1e-8);  // second order
}

// A planted massive channel: the MLP writes it, one head adds a little.
TEST(ChannelWrite, NamesTheLargestBeforeOrAfter) {
  const std::vector<float> before = {1, -2, 3}, attention = {0, -1, 0}, mlp = {0, -900, 1},
                           after = {1, -903, 4};
  const ChannelWrite up = channel_write(before, attention, mlp, after);
  EXPECT_EQ(up.channel, 1);
  EXPECT_EQ(up.before, -2);
  EXPECT_EQ(up.attention, -1);
  EXPECT_EQ(up.mlp, -900);
  EXPECT_EQ(up.after, -903);
  // Taken away again: still the same channel.
  const ChannelWrite down =
      channel_write(after, attention, std::vector<float>{0, 904, 0}, std::vector<float>{1, 0, 4});
  EXPECT_EQ(down.channel, 1);
  EXPECT_EQ(down.after, 0);
  EXPECT_EQ(channel_write(attention, attention, attention, std::vector<float>{1, -1, 1}).channel,
            0);  // ties: lowest
}

TEST(HeadWrites, AddUpToTheProjection) {
  const at::Tensor z = random_tensor({3, 4}, 1), w_o = random_tensor({5, 12}, 2);
  const std::vector<double> writes = head_writes(z, w_o, 2);
  ASSERT_EQ(writes.size(), 3u);
  double total = 0;
  for (const double write : writes) total += write;
  const at::Tensor whole = at::mv(w_o.to(at::kDouble), z.view({12}).to(at::kDouble));
  EXPECT_NEAR(total, whole[2].item<double>(), 1e-14);
  double second = 0;
  for (int64_t k = 0; k < 4; ++k) {
    second += z[1][k].item<double>() * w_o[2][4 + k].item<double>();
  }
  EXPECT_NEAR(writes[1], second, 1e-14);
}

TEST(NormsWithoutHead, EqualTheSubtraction) {
  for (const int64_t tokens : {1, 7, 300}) {  // also more than one part
    const at::Tensor h = random_tensor({tokens, 6}, 3), z = random_tensor({tokens, 2, 3}, 4),
                     w_o = random_tensor({6, 6}, 5);
    const auto norms = norms_without_head(h, z, w_o, 0.5);
    ASSERT_EQ(norms.size(), 2u);
    for (int64_t head = 0; head < 2; ++head) {
      const at::Tensor update =
          at::mm(z.select(1, head).to(at::kDouble), w_o.narrow(1, 3 * head, 3).t().to(at::kDouble));
      const at::Tensor want = (h.to(at::kDouble) - 0.5 * update).norm(2, 1);
      for (int64_t t = 0; t < tokens; ++t) {
        EXPECT_NEAR(norms[static_cast<size_t>(head)][static_cast<size_t>(t)],
                    want[t].item<double>(), 3e-6);
      }
    }
  }
}

/// Causal attention that is uniform but for the first `skip` rows' extra weight on themselves.
at::Tensor uniform_pattern(int64_t tokens) {
  at::Tensor pattern = at::zeros({tokens, tokens});
  for (int64_t t = 0; t < tokens; ++t) {
    pattern[t].narrow(0, 0, t + 1).fill_(1.0 / static_cast<double>(t + 1));
  }
  return pattern;
}

ConeValues cone_of(const at::Tensor& pattern, const at::Tensor& values, float missing = 0) {
  const at::Tensor units = unit_rows(values);
  const at::Tensor squares = pattern.mul(pattern).sum(1);
  const auto rows = static_cast<size_t>(pattern.size(0));
  Cone cone;
  cone.add(pattern, units, {squares.data_ptr<float>(), rows},
           missing > 0 ? std::vector<float>(rows, missing) : std::vector<float>());
  return cone.value(units);
}

// Values with the same cosine between all of them: every point lies on the line c + (1 - c) x.
TEST(Cone, EqualCosinesGiveTheExactLine) {
  constexpr int64_t kTokens = 24;
  at::Tensor values = at::zeros({kTokens, kTokens + 1});
  for (int64_t t = 0; t < kTokens; ++t) {
    const double length = 1 + static_cast<double>(t);  // lengths do not matter
    values[t][0] = std::sqrt(0.3) * length;
    values[t][t + 1] = std::sqrt(0.7) * length;
  }
  const ConeValues cone = cone_of(uniform_pattern(kTokens), values);
  EXPECT_NEAR(cone.cosine, 0.3, 1e-6);
  EXPECT_NEAR(cone.intercept, 0.3, 1e-5);
  EXPECT_NEAR(cone.slope, 0.7, 1e-5);
  EXPECT_NEAR(cone.r2, 1, 1e-5);
  // A learned sink logit takes a share of each row; the line is that of the rows made whole.
  const ConeValues shared = cone_of(uniform_pattern(kTokens) * 0.25, values, 0.75f);
  EXPECT_NEAR(shared.intercept, 0.3, 1e-5);
  EXPECT_NEAR(shared.slope, 0.7, 1e-5);
}

// Near miss of method.md section 12: equal values, so no position is longer than another.
TEST(Cone, EqualValuesSeparateNothing) {
  const ConeValues cone = cone_of(uniform_pattern(20), at::full({20, 3}, 2.0f));
  EXPECT_NEAR(cone.cosine, 1, 1e-6);
  EXPECT_NEAR(cone.slope, 0, 1e-5);
  EXPECT_NEAR(cone.intercept, 1, 1e-5);
}

TEST(Cone, ZeroValuesAndSingleTokensAreNoFailure) {
  const ConeValues zero = cone_of(uniform_pattern(8), at::zeros({8, 3}));
  EXPECT_EQ(zero.cosine, 0);
  EXPECT_EQ(zero.slope, 0);
  EXPECT_TRUE(std::isnan(zero.r2));
  const ConeValues one = cone_of(uniform_pattern(1), at::ones({1, 3}));
  EXPECT_TRUE(std::isnan(one.cosine));
  EXPECT_TRUE(std::isnan(one.slope));
}

}  // namespace
}  // namespace sinkscope::stats
