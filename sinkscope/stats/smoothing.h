#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

#include "sinkscope/stats/dominant_key.h"
#include "sinkscope/stats/smoothing_values.h"

namespace sinkscope::stats {

/// How the heads of a layer write, [D] wide, and how lengths are taken there.
struct OutputSpace {
  at::Tensor maps;       ///< [H, K, D] W_O^hT float32, gain and centring inside
  at::Tensor gram;       ///< [H, K, K] W_O^hT W_O^h
  at::Tensor gain;       ///< [D]; undefined: 1
  bool centred = false;  ///< the mean over channels is taken off first, as LayerNorm does
};

/// `w_o` [D, H K] float32 or bfloat16.
OutputSpace output_space(const at::Tensor& w_o, int64_t heads, const at::Tensor& gain = {},
                         bool centred = false);

/// One stream at one layer. Rows of `step`, `context`, `v` and `gate` are its T tokens.
struct SmoothingInput {
  at::Tensor step;     ///< [T, D] x plus what attention adds, divided by the factor on W_O's output
  at::Tensor context;  ///< [T, H, K] pattern times values
  at::Tensor v;        ///< [T, G, K]
  at::Tensor gate;     ///< [T, H, K] factor on what W_O reads, or undefined
  std::span<const theory::SeenKeys> seen;  ///< [T]
  std::span<const int64_t> dominant;       ///< [H] position, or one of dominant_key.h
  std::span<const double> lambdas;
  std::span<const int64_t> left_out;  ///< positions of the tokens left out, each once
};

/// Positions of the tokens whose step is at least five times as long as the median one (method.md
/// section 5, --norm-outlier-ratio), rising; step [T, D] float32.
std::vector<int64_t> outlier_tokens(const at::Tensor& step);

/// The curves of every head of the layer (method.md section 9):
///
///   y_i(lambda) = step_i + W_O^h (-ctx_i + (1 - lambda) v_i + lambda mean_{j in V(i)} v_j)
///   mean cosine = (||sum_i y_i / ||y_i|| ||^2 - T) / (T (T - 1))
///
/// A gate multiplies all three head vectors of its query. Lengths come from K x K Gram matrices and
/// from step W_O^h, so a layer costs a few products of the size of a projection. A token whose
/// length is below 1e-3 of that of its parts has no direction (float32 does not resolve it) and is
/// left out. Time and memory O(T). `normed` may be null; entries of heads left out stay empty.
std::vector<SmoothingValues> smoothing(const SmoothingInput& input, const OutputSpace& plain,
                                       const OutputSpace* normed);

/// Mean over the queries that see more than one key of (1 - A_ii) / (1 - 1 / |V(i)|), the
/// least-squares place of a row between identity and uniform (method.md section 1); NaN without
/// such a query. `to_self` [T]: A_ii.
double mean_uniformity(std::span<const float> to_self, std::span<const theory::SeenKeys> seen);

}  // namespace sinkscope::stats
