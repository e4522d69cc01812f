#include "sinkscope/train/random.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/util/accumulate.h>

#include "sinkscope/base/mix.h"
#include "sinkscope/train/kernels/normal.h"

namespace sinkscope::train {
namespace {

constexpr int64_t kGrain = 1 << 14;
constexpr float kUnit = 0x1p-24f;

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
  const int64_t elements = c10::multiply_integers(shape), run = kernels::kRunLength;
  at::Tensor out = at::empty({(elements + run - 1) / run * run}, at::kFloat);
  float* data = out.data_ptr<float>();
  at::parallel_for(0, out.numel() / run, kGrain / run, [&](int64_t begin, int64_t end) {
    kernels::normal_runs(key, begin, end, data + begin * run);
  });
  return out.narrow(0, 0, elements).view(shape);
}

}  // namespace sinkscope::train
