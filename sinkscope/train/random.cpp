#include "sinkscope/train/random.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <numbers>

#include "sinkscope/base/mix.h"

namespace sinkscope::train {
namespace {

constexpr int64_t kGrain = 1 << 14;
constexpr float kUnit = 0x1p-24f;

int64_t elements_of(at::IntArrayRef shape) {
  int64_t elements = 1;
  for (const int64_t length : shape) elements *= length;
  return elements;
}

/// Both halves of the hash of i, as numbers in (0, 1].
void fill_pairs(uint64_t key, int64_t pairs, float* high, float* low) {
  at::parallel_for(0, pairs, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t bits = mix(key, {static_cast<uint64_t>(i)});
      high[i] = static_cast<float>(static_cast<int32_t>(bits >> 40) + 1) * kUnit;
      low[i] = static_cast<float>(static_cast<int32_t>(bits & 0xFFFFFF) + 1) * kUnit;
    }
  });
}

}  // namespace

at::Tensor uniform(uint64_t key, at::IntArrayRef shape) {
  at::Tensor out = at::empty(shape, at::kFloat);
  float* data = out.data_ptr<float>();
  at::parallel_for(0, out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t bits = mix(key, {static_cast<uint64_t>(i)});
      data[i] = static_cast<float>(static_cast<int32_t>(bits >> 40) + 1) * kUnit;
    }
  });
  return out;
}

at::Tensor normal(uint64_t key, at::IntArrayRef shape) {
  const c10::NoGradGuard no_grad;
  // A pair of uniform numbers makes two normal ones. They lie in runs, cosines then sines, so that
  // every operation below runs over whole vectors.
  constexpr int64_t kRun = 32;
  const int64_t elements = elements_of(shape), runs = (elements + 2 * kRun - 1) / (2 * kRun);
  at::Tensor radius = at::empty({runs, kRun}, at::kFloat), angle = at::empty_like(radius);
  fill_pairs(key, runs * kRun, radius.data_ptr<float>(), angle.data_ptr<float>());
  radius.log_().mul_(-2).sqrt_();
  angle.mul_(2 * std::numbers::pi);
  at::Tensor out = at::empty({runs, 2, kRun}, at::kFloat);
  at::Tensor cosines = out.select(1, 0), sines = out.select(1, 1);
  at::cos_out(cosines, angle).mul_(radius);
  at::sin_out(sines, angle).mul_(radius);
  return out.flatten().narrow(0, 0, elements).view(shape);
}

}  // namespace sinkscope::train
