#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "sinkscope/stats/weight_size_values.h"

namespace sinkscope::stats {

/// Norms of W_O^h W_V of every query head from w_v [G K, D] and w_o [D, H K], K x K work only
/// (stats/qk_spectrum.h). In float64.
std::vector<WeightSizeValues> weight_size(const at::Tensor& w_v, const at::Tensor& w_o,
                                          int64_t heads, int64_t kv_heads, double score_scale);

}  // namespace sinkscope::stats
