#include "sinkscope/stats/range.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/stats/matrices.h"

namespace sinkscope::stats {
namespace {

at::Tensor rows_of(const std::vector<std::vector<double>>& rows) {
  return test::matrix(rows).to(at::kFloat);
}

TEST(Range, LargestOfASiteInAnyParts) {
  const std::vector<float> x = {1, -3, 2, 5, 70000, -66000, -70000, 0, 1};
  SiteRange whole, parts;
  add_range(x.data(), 3, 3, whole);
  for (int64_t r = 0; r < 3; ++r) add_range(x.data() + 3 * r, 1, 3, parts);
  EXPECT_EQ(whole.largest, 70000);
  EXPECT_EQ(whole.channel, 1);  // the first of equal ones
  EXPECT_EQ(whole.beyond_half, 3);
  EXPECT_EQ(parts.largest, whole.largest);
  EXPECT_EQ(parts.channel, whole.channel);
  EXPECT_EQ(parts.beyond_half, whole.beyond_half);
}

TEST(Range, TheLargestHalfIsNoOverflow) {
  const std::vector<float> x = {65504, -65504}, more = {65504.01f};
  SiteRange range;
  add_range(x.data(), 1, 2, range);
  EXPECT_EQ(range.beyond_half, 0);
  add_range(more.data(), 1, 1, range);
  EXPECT_EQ(range.beyond_half, 1);
  SiteRange zeros;
  add_range(std::vector<float>(4).data(), 2, 2, zeros);
  EXPECT_EQ(zeros.largest, 0);
  EXPECT_EQ(zeros.channel, 0);
}

TEST(Rounding, ErrorsOfKnownNumbers) {
  // 1 + 2^-8 lies halfway between two bfloat16 and goes to the even one, 1; binary16 holds it.
  const RoundingErrors halfway = rounding_errors(rows_of({{1 + 1.0 / 256}, {1}}));
  EXPECT_NEAR(halfway.bfloat16, 0.5 * (1.0 / 256) / (1 + 1.0 / 256), 1e-12);
  EXPECT_EQ(halfway.half, 0);
  // Beyond its range binary16 is taken at its largest number, not as infinite.
  EXPECT_NEAR(rounding_errors(rows_of({{131008}})).half, 0.5, 1e-12);
  EXPECT_EQ(rounding_errors(rows_of({{0, 0}, {2, 4}})).bfloat16, 0);  // zero rows are left out
  EXPECT_TRUE(std::isnan(rounding_errors(rows_of({{0, 0}})).half));
}

TEST(Rounding, OfRandomNumbersHasTheKnownSize) {
  const RoundingErrors errors = rounding_errors(test::random_tensor({200, 64}, 7));
  // Relative rounding error of b bits of significand, uniform in the mantissa: 2^-b / sqrt(12)
  // times a factor between 1 and 2 that the position within the binade sets.
  EXPECT_GT(errors.bfloat16, std::exp2(-8) / std::sqrt(12));
  EXPECT_LT(errors.bfloat16, 2 * std::exp2(-8) / std::sqrt(12));
  EXPECT_NEAR(errors.bfloat16 / errors.half, 8, 0.25);  // three bits more
}

// Planted: one token holds 256 where the rest hold up to 1.
TEST(Int8, ASinkTokenCostsEightBits) {
  const at::Tensor x = rows_of({{256, 0}, {1, 0.5}, {-0.25, 1}});
  const std::vector<int64_t> sinks = {0};
  const Int8Values values = int8_values(x, std::vector<double>{4, 2, 1}, sinks);
  EXPECT_DOUBLE_EQ(values.bits_lost, 8);
  EXPECT_DOUBLE_EQ(values.bits_lost_normed, 1);
  // Step 256 / 127 = 2.016: everything but the sink rounds to 0.
  EXPECT_DOUBLE_EQ(values.error, 1);
  // Step 1/127: 0.5 is 63.5 steps and goes to 64, 0.25 is 31.75 and goes to 32.
  const double e1 = 64 / 127.0 - 0.5, e2 = 32 / 127.0 - 0.25;
  EXPECT_NEAR(values.error_without, std::sqrt((e1 * e1 + e2 * e2) / (1 + 0.25 + 0.0625 + 1)), 1e-7);
}

TEST(Int8, NearMissASinkTokenOfOrdinarySizeCostsNothing) {
  const at::Tensor x = rows_of({{0.9, 0}, {1, 0.5}, {-0.25, 1}});
  const std::vector<double> normed = {1, 2, 2};
  const Int8Values with = int8_values(x, normed, std::vector<int64_t>{0});
  EXPECT_EQ(with.bits_lost, 0);
  EXPECT_EQ(with.bits_lost_normed, 0);
  EXPECT_EQ(with.error, with.error_without);
  EXPECT_GT(with.error, 0);
  EXPECT_EQ(int8_values(x, normed, {}).bits_lost, 0);
}

TEST(Int8, NothingLeftIsNoData) {
  const at::Tensor x = rows_of({{3, 1}, {0, 0}});
  const std::vector<double> normed = {1, 1};
  EXPECT_TRUE(std::isnan(int8_values(x, normed, std::vector<int64_t>{0}).bits_lost));
  EXPECT_TRUE(std::isnan(int8_values(x, normed, std::vector<int64_t>{0}).error));
  EXPECT_TRUE(std::isnan(int8_values(x, normed, std::vector<int64_t>{0, 1}).bits_lost_normed));
  EXPECT_EQ(int8_values(x, normed, std::vector<int64_t>{7, -1}).bits_lost, 0);
}

}  // namespace
}  // namespace sinkscope::stats
