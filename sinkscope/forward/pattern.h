#pragma once

#include <ATen/core/Tensor.h>

#include "sinkscope/forward/attention_sums.h"

namespace sinkscope::forward {

/// Rows [first, first + count) of the attention pattern of every head: [H, count, T], in the type
/// of q. q [T, H, K] and k [T, G, K] after rotary. For the few who want maps; the kernels never
/// make them.
at::Tensor pattern_rows(const at::Tensor& q, const at::Tensor& k, double scale,
                        const Visibility& visibility, int64_t first, int64_t count);

}  // namespace sinkscope::forward
