#include "sinkscope/train/optimiser.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sinkscope/base/error.h"

namespace sinkscope::train {
namespace {

TEST(Optimiser, AdamwFollowsItsFormulaForThreeSteps) {
  OptimiserOptions options;
  options.rate = 0.1, options.weight_decay = 0.01;
  Optimiser optimiser(options, 1);
  at::Tensor value = at::full({1}, 2.0f), gradient = at::empty({1}, at::kFloat);
  double w = 2, m = 0, v = 0;
  const double slopes[] = {1.0, -0.5, 3.0};
  for (int step = 0; step < 3; ++step) {
    const double g = slopes[step];
    gradient.fill_(g);
    optimiser.step(value, gradient, step, 3);
    w -= 0.1 * 0.01 * w;
    m = 0.9 * m + 0.1 * g, v = 0.999 * v + 0.001 * g * g;
    w -= 0.1 * (m / (1 - std::pow(0.9, step + 1))) /
         (std::sqrt(v / (1 - std::pow(0.999, step + 1))) + 1e-8);
    EXPECT_NEAR(value.item<double>(), w, 1e-5) << step;  // float32 rounding
  }
}

TEST(Optimiser, SgdWithMomentumAndDecay) {
  OptimiserOptions options;
  options.name = "sgd", options.rate = 0.1, options.weight_decay = 0.5, options.momentum = 0.9;
  Optimiser optimiser(options, 1);
  at::Tensor value = at::full({1}, 2.0f), gradient = at::full({1}, 1.0f);
  optimiser.step(value, gradient, 0, 2);
  EXPECT_NEAR(value.item<double>(), 2 - 0.1 * (1 + 0.5 * 2), 1e-6);  // 1.8
  optimiser.step(value, gradient, 1, 2);
  EXPECT_NEAR(value.item<double>(), 1.8 - 0.1 * (0.9 * 2 + 1 + 0.5 * 1.8), 1e-6);
}

TEST(Optimiser, ClipsTheNormAndReportsItUnclipped) {
  OptimiserOptions options;
  options.name = "sgd", options.rate = 1, options.weight_decay = 0, options.clip = 1;
  Optimiser optimiser(options, 2);
  at::Tensor value = at::zeros({2}), gradient = at::tensor({3.0f, 4.0f});
  EXPECT_NEAR(optimiser.step(value, gradient, 0, 1), 5, 1e-6);
  EXPECT_NEAR(value[0].item<double>(), -0.6, 1e-6);
  EXPECT_NEAR(value[1].item<double>(), -0.8, 1e-6);
}

TEST(Optimiser, SchedulesRiseAndFall) {
  OptimiserOptions options;
  options.rate = 1, options.warmup = 10, options.schedule = "cosine", options.rate_end = 0.1;
  EXPECT_NEAR(rate_at(options, 0, 110), 0.1, 1e-12);
  EXPECT_NEAR(rate_at(options, 9, 110), 1, 1e-12);
  EXPECT_NEAR(rate_at(options, 60, 110), 0.1 + 0.9 / 2, 1e-12);
  EXPECT_NEAR(rate_at(options, 110, 110), 0.1, 1e-12);
  options.schedule = "linear";
  EXPECT_NEAR(rate_at(options, 35, 110), 0.1 + 0.9 * 0.75, 1e-12);
}

TEST(Optimiser, RefusesWhatMakesNoSense) {
  OptimiserOptions options;
  options.name = "adam";
  EXPECT_THROW(Optimiser(options, 1), Error);
  options = {};
  options.rate = std::nan("");
  EXPECT_THROW(Optimiser(options, 1), Error);
}

}  // namespace
}  // namespace sinkscope::train
