#include "sinkscope/base/log_sum_exp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace sinkscope {
namespace {

double slow(const std::vector<float>& x) {
  double sum = 0;
  for (const float value : x) sum += std::exp(static_cast<double>(value));
  return std::log(sum);
}

TEST(LogSumExp, EqualsTheSlowFormulaForAnyLength) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 4);
  for (const size_t count : {1, 2, 7, 8, 9, 31, 4095, 4096, 4097, 49152}) {
    std::vector<float> x(count);
    for (float& value : x) value = normal(random);
    EXPECT_NEAR(log_sum_exp(x.data(), static_cast<int64_t>(count)), slow(x), 1e-6) << count;
  }
}

TEST(LogSumExp, LargeEntriesDoNotOverflow) {
  const std::vector<float> x(100, 1e4f);
  EXPECT_NEAR(log_sum_exp(x.data(), 100), 1e4 + std::log(100), 1e-9);
  const std::vector<float> spread = {-1e4f, 0, -1e4f};
  EXPECT_NEAR(log_sum_exp(spread.data(), 3), 0, 1e-12);
}

TEST(LogSumExp, NothingAndMinusInfinity) {
  EXPECT_EQ(log_sum_exp(nullptr, 0), -std::numeric_limits<double>::infinity());
  const std::vector<float> none(9, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(log_sum_exp(none.data(), 9), -std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace sinkscope
