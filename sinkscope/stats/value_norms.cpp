#include "sinkscope/stats/value_norms.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>

#include "sinkscope/stats/dot.h"

namespace sinkscope::stats {
namespace {

/// sqrt(a . b), a negative rounding residue taken as 0.
double root(const float* a, const float* b, int64_t width) {
  return std::sqrt(std::max(0.0, dot(a, b, width)));
}

}  // namespace

at::Tensor output_gram(const at::Tensor& w_o, int64_t heads) {
  const int64_t width = w_o.size(1) / heads;
  at::Tensor gram = at::empty({heads, width, width}, at::kFloat);
  // A head a task: products this small gain nothing from threads of their own.
  at::parallel_for(0, heads, 1, [&](int64_t begin, int64_t end) {
    const c10::NoGradGuard no_grad;
    for (int64_t h = begin; h < end; ++h) {
      const at::Tensor slice =
          w_o.narrow(1, h * width, width).to(at::kFloat).contiguous();  // [D, K]
      gram[h].copy_(at::mm(slice.t(), slice));
    }
  });
  return gram;
}

std::vector<ValueNorms> value_norms(const at::Tensor& v, const at::Tensor& gram) {
  constexpr int64_t kBlock = 256;  // tokens a task
  const int64_t tokens = v.size(0), groups = v.size(1), width = v.size(2), heads = gram.size(0);
  const int64_t shared = heads / groups, blocks = (tokens + kBlock - 1) / kBlock;
  std::vector<ValueNorms> norms(static_cast<size_t>(heads));
  for (ValueNorms& n : norms)
    n.head.resize(static_cast<size_t>(tokens)), n.out.resize(static_cast<size_t>(tokens));
  // One product per group serves all of its query heads: [R, K] x [K, (H/G) K].
  const at::Tensor grams =
      gram.view({groups, shared, width, width}).transpose(1, 2).reshape({groups, width, -1});
  at::parallel_for(0, groups * blocks, 1, [&](int64_t begin, int64_t end) {
    const c10::NoGradGuard no_grad;
    for (int64_t task = begin; task < end; ++task) {
      const int64_t group = task / blocks, first = task % blocks * kBlock,
                    rows = std::min(kBlock, tokens - first);
      const at::Tensor values = v.narrow(0, first, rows).select(1, group).contiguous();  // [R, K]
      const at::Tensor mapped = at::mm(values, grams[group]);  // [R, (H/G) K]
      for (int64_t r = 0; r < rows; ++r) {
        const float* x = values.data_ptr<float>() + r * width;
        const double length = root(x, x, width);
        for (int64_t i = 0; i < shared; ++i) {
          ValueNorms& n = norms[static_cast<size_t>(group * shared + i)];
          n.head[static_cast<size_t>(first + r)] = length;
          n.out[static_cast<size_t>(first + r)] =
              root(x, mapped.data_ptr<float>() + (r * shared + i) * width, width);
        }
      }
    }
  });
  return norms;
}

}  // namespace sinkscope::stats
