#include "sinkscope/stats/value_norms.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace sinkscope::stats {
namespace {

/// Rows of a [rows, T] float tensor as double vectors, negative rounding residues clamped at 0.
std::vector<double> root_row(const at::Tensor& squares, int64_t row) {
  const float* data = squares.data_ptr<float>() + row * squares.size(1);
  std::vector<double> out(static_cast<size_t>(squares.size(1)));
  std::transform(data, data + squares.size(1), out.begin(), [](float x) { return std::sqrt(std::max(0.0f, x)); });
  return out;
}

}  // namespace

at::Tensor output_gram(const at::Tensor& w_o, int64_t heads) {
  const at::Tensor slices = w_o.to(at::kFloat).view({w_o.size(0), heads, -1}).permute({1, 2, 0});  // [H, K, D]
  return at::matmul(slices, slices.transpose(1, 2));
}

std::vector<ValueNorms> value_norms(const at::Tensor& v, const at::Tensor& gram) {
  const int64_t tokens = v.size(0), groups = v.size(1), width = v.size(2), heads = gram.size(0);
  const at::Tensor values = v.transpose(0, 1).contiguous();  // [G, T, K]
  const at::Tensor head_square = values.square().sum(-1);    // [G, T]
  // One product per group serves all of its query heads: [T, K] x [K, (H/G) K].
  const at::Tensor grams = gram.view({groups, heads / groups, width, width}).transpose(1, 2);
  const at::Tensor mapped =
      at::matmul(values, grams.reshape({groups, width, -1})).view({groups, tokens, heads / groups, width});
  const at::Tensor out_square = (mapped * values.unsqueeze(2)).sum(-1).transpose(1, 2).reshape({heads, tokens});
  std::vector<ValueNorms> norms(static_cast<size_t>(heads));
  for (int64_t h = 0; h < heads; ++h) {
    norms[static_cast<size_t>(h)] = {root_row(head_square, h / (heads / groups)), root_row(out_square, h)};
  }
  return norms;
}

}  // namespace sinkscope::stats
