#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "sinkscope/stats/values.h"

namespace sinkscope::stats {

/// Gram matrices of the heads' slices of the output projection: G_h = W_O^hT W_O^h, [H, K, K]
/// float32, from w_o [D, H K] (float32 or bfloat16). With it the length of u = W_O^h v costs K^2
/// and not D K (method.md section 0).
at::Tensor output_gram(const at::Tensor& w_o, int64_t heads);

/// ||v_j|| and ||u_j|| of every head of one stream: v [T, G, K], gram [H, K, K]; [H] results.
/// Lengths of values need no merging: each token has its own.
std::vector<ValueNorms> value_norms(const at::Tensor& v, const at::Tensor& gram);

}  // namespace sinkscope::stats
