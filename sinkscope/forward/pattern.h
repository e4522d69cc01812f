#pragma once

#include <ATen/core/Tensor.h>

#include "sinkscope/forward/attention_sums.h"

namespace sinkscope::forward {

/// How q and k become logits: softcap(scale q.k) + slope_h (j - i) + bias_hij, and the sink logit
/// that joins the softmax of each row.
struct ScoreRule {
  double scale = 1;
  double softcap = 0;      ///< 0: none
  at::Tensor slopes;       ///< [H] ALiBi, or undefined
  at::Tensor bias;         ///< [H, T or 1, >= T] or undefined
  at::Tensor sink_logits;  ///< [H] or undefined
};

/// Rows [first, first + count) of the attention pattern of every head: [H, count, T], in the type
/// of q. q [T, H, K] and k [T, G, K] after rotary. For the few who want maps; the kernels never
/// make them.
at::Tensor pattern_rows(const at::Tensor& q, const at::Tensor& k, const ScoreRule& rule,
                        const Visibility& visibility, int64_t first, int64_t count);

}  // namespace sinkscope::forward
