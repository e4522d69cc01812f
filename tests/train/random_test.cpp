#include "sinkscope/train/random.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cmath>
#include <numbers>

#include "sinkscope/base/mix.h"

namespace sinkscope::train {
namespace {

double at_double(const at::Tensor& x, int64_t i) { return x.flatten()[i].item<double>(); }

TEST(Random, NormalIsBoxMullerOfTheHash) {
  const uint64_t key = 77;
  const at::Tensor x = normal(key, {10, 64});
  double worst = 0;
  for (int64_t pair = 0; pair < 320; ++pair) {
    const uint64_t bits = mix(key, {static_cast<uint64_t>(pair)});
    const double u = static_cast<double>((bits >> 40) + 1) * 0x1p-24,
                 v = static_cast<double>((bits & 0xFFFFFF) + 1) * 0x1p-24;
    const double r = std::sqrt(-2 * std::log(u)), turn = 2 * std::numbers::pi * v;
    const int64_t at = pair / 32 * 64 + pair % 32;
    worst = std::max(worst, std::abs(at_double(x, at) - r * std::cos(turn)));
    worst = std::max(worst, std::abs(at_double(x, at + 32) - r * std::sin(turn)));
  }
  EXPECT_LT(worst, 2e-6);  // floor: 3.5e-7, three roundings of numbers up to 4
}

TEST(Random, ElementsDoNotDependOnTheShape) {
  const at::Tensor many = normal(5, {1000, 77}), few = normal(5, {13});
  EXPECT_TRUE(at::equal(many.flatten().narrow(0, 0, 13), few));
  EXPECT_TRUE(at::equal(uniform(5, {1000, 77}).flatten().narrow(0, 0, 13), uniform(5, {13})));
  EXPECT_FALSE(at::equal(few, normal(6, {13})));
}

TEST(Random, ThreadsDoNotMatter) {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor normal1 = normal(9, {300, 1000}), uniform1 = uniform(9, {300, 1000});
  at::set_num_threads(3);
  EXPECT_TRUE(at::equal(normal1, normal(9, {300, 1000})));
  EXPECT_TRUE(at::equal(uniform1, uniform(9, {300, 1000})));
  at::set_num_threads(threads);
}

/// Largest distance of the sample's distribution function from the true one, times sqrt(n): above
/// 1.95 in one of a thousand samples (Kolmogorov).
double distance(const at::Tensor& probabilities) {
  const at::Tensor sorted = std::get<0>(probabilities.to(at::kDouble).flatten().sort());
  const auto n = static_cast<double>(sorted.numel());
  const at::Tensor steps = at::arange(sorted.numel(), at::kDouble) / n;
  return at::max(at::maximum(sorted - steps, steps + 1 / n - sorted)).item<double>() * std::sqrt(n);
}

TEST(Random, DistributionsAreTheirs) {
  const at::Tensor x = normal(3, {1 << 20}).to(at::kDouble);
  EXPECT_LT(distance(uniform(3, {1 << 20})), 1.95);
  EXPECT_LT(distance(0.5 * at::erfc(-x / std::sqrt(2.0))), 1.95);
  // Standard errors of the moments of n normal numbers: sqrt(1, 2, 15, 96 / n).
  const double n = 1 << 20;
  EXPECT_LT(std::abs(x.mean().item<double>()), 4 / std::sqrt(n));
  EXPECT_LT(std::abs(x.pow(2).mean().item<double>() - 1), 4 * std::sqrt(2 / n));
  EXPECT_LT(std::abs(x.pow(3).mean().item<double>()), 4 * std::sqrt(15 / n));
  EXPECT_LT(std::abs(x.pow(4).mean().item<double>() - 3), 4 * std::sqrt(96 / n));
  EXPECT_TRUE(at::isfinite(x).all().item<bool>());
}

TEST(Random, NeighboursAndKeysAreNotCorrelated) {
  const at::Tensor x = normal(3, {1 << 20}), other = normal(4, {1 << 20});
  const double limit = 4 / std::sqrt(static_cast<double>(1 << 20));
  for (const int64_t lag : {1, 32, 64, 2048}) {
    const at::Tensor a = x.narrow(0, 0, x.numel() - lag), b = x.narrow(0, lag, x.numel() - lag);
    EXPECT_LT(std::abs((a * b).mean().item<double>()), limit) << lag;
    EXPECT_LT(std::abs(((a.square() - 1) * (b.square() - 1)).mean().item<double>()), 2 * limit)
        << lag;
  }
  EXPECT_LT(std::abs((x * other).mean().item<double>()), limit);
}

// What training runs depend on: these bits must not change with machine, compiler or version.
TEST(Random, BitsAreFixed) {
  for (const uint32_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    const at::Tensor x = normal(2024, {1 << 16});
    const int32_t* words = reinterpret_cast<const int32_t*>(x.data_ptr<float>());
    uint64_t hash = 0;
    for (int64_t i = 0; i < x.numel(); ++i) hash = mix(hash, {static_cast<uint32_t>(words[i])});
    EXPECT_EQ(hash, 6465998406303514616u) << hwy::TargetName(target);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace
}  // namespace sinkscope::train
