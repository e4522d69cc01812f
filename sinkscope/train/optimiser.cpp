#include "sinkscope/train/optimiser.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "sinkscope/base/error.h"

namespace sinkscope::train {
namespace {

constexpr int64_t kGrain = 1 << 13;

void check(bool sound, const char* flag, const std::string& seen, const char* allowed) {
  if (!sound) throw Error(ErrorKind::kUsage, "read training options", flag + (" " + seen), allowed);
}

/// By chunks of a fixed size: the same bits for any number of threads.
double norm_of(const at::Tensor& gradients) {
  const float* g = gradients.data_ptr<float>();
  const int64_t count = gradients.numel();
  std::vector<double> sums(static_cast<size_t>((count + kGrain - 1) / kGrain));
  at::parallel_for(0, std::ssize(sums), 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      double sum = 0;
      for (int64_t i = c * kGrain; i < std::min(count, (c + 1) * kGrain); ++i) {
        sum += static_cast<double>(g[i]) * g[i];
      }
      sums[static_cast<size_t>(c)] = sum;
    }
  });
  return std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0));
}

}  // namespace

double rate_at(const OptimiserOptions& options, int64_t step, int64_t steps) {
  if (step < options.warmup) {
    return options.rate * static_cast<double>(step + 1) / static_cast<double>(options.warmup);
  }
  const double done = static_cast<double>(step - options.warmup) /
                      static_cast<double>(std::max<int64_t>(steps - options.warmup, 1));
  double left = 1;  // share of the way from the end rate to the peak
  if (options.schedule == "cosine") left = (1 + std::cos(std::numbers::pi * done)) / 2;
  if (options.schedule == "linear") left = 1 - done;
  return options.rate * (options.rate_end + (1 - options.rate_end) * left);
}

Optimiser::Optimiser(const OptimiserOptions& options, int64_t parameters)
    : options_(options),
      first_(at::zeros({parameters}, at::kFloat)),
      second_(at::zeros({parameters}, at::kFloat)) {
  const auto number = [](double x) { return fmt::format("{}", x); };
  check(options.name == "adamw" || options.name == "sgd", "--optimiser", options.name,
        "adamw or sgd");
  check(options.schedule == "constant" || options.schedule == "cosine" ||
            options.schedule == "linear",
        "--schedule", options.schedule, "constant, cosine or linear");
  check(options.rate > 0 && std::isfinite(options.rate), "--lr", number(options.rate), "above 0");
  check(options.weight_decay >= 0 && options.weight_decay < 10, "--weight-decay",
        number(options.weight_decay), "from 0 below 10");
  check(options.momentum >= 0 && options.momentum < 1, "--momentum", number(options.momentum),
        "from 0 below 1");
  check(options.clip >= 0, "--clip", number(options.clip), "0 or above");
  check(options.warmup >= 0, "--warmup", number(static_cast<double>(options.warmup)), "0 or above");
}

double Optimiser::step(at::Tensor values, at::Tensor gradients, int64_t step, int64_t steps) {
  const c10::NoGradGuard no_grad;
  const double norm = norm_of(gradients);
  const bool clipped = options_.clip > 0 && norm > options_.clip;
  const auto shrink = static_cast<float>(clipped ? options_.clip / norm : 1.0);
  const double rate = rate_at(options_, step, steps);
  const bool adam = options_.name == "adamw";
  const auto t = static_cast<double>(step + 1);
  const auto kept = static_cast<float>(1 - rate * options_.weight_decay),
             decay = static_cast<float>(options_.weight_decay),
             beta1 = static_cast<float>(options_.beta1), beta2 = static_cast<float>(options_.beta2),
             momentum = static_cast<float>(options_.momentum),
             epsilon = static_cast<float>(options_.epsilon),
             stride = static_cast<float>(adam ? rate / (1 - std::pow(options_.beta1, t)) : rate),
             correction = static_cast<float>(1 / std::sqrt(1 - std::pow(options_.beta2, t)));
  float* w = values.data_ptr<float>();
  float* m = first_.data_ptr<float>();
  float* v = second_.data_ptr<float>();
  const float* g = gradients.data_ptr<float>();
  at::parallel_for(0, values.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; adam && i < end; ++i) {
      const float slope = g[i] * shrink;
      m[i] = beta1 * m[i] + (1 - beta1) * slope;
      v[i] = beta2 * v[i] + (1 - beta2) * slope * slope;
      w[i] = kept * w[i] - stride * m[i] / (std::sqrt(v[i]) * correction + epsilon);
    }
    for (int64_t i = begin; !adam && i < end; ++i) {
      m[i] = momentum * m[i] + (g[i] * shrink + decay * w[i]);
      w[i] -= stride * m[i];
    }
  });
  return norm;
}

}  // namespace sinkscope::train
