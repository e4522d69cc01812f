#pragma once

#include <ATen/core/Tensor.h>

#include "sinkscope/forward/attention_sums.h"
#include "sinkscope/model/model_spec.h"

namespace sinkscope::forward {

/// How q and k become logits: softcap(scale q.k) + slope_h (j - i) + bias_hij, what these become,
/// and the sink logit or key without position that joins the softmax of each row.
struct ScoreRule {
  double scale = 1;
  double softcap = 0;      ///< 0: none
  at::Tensor slopes;       ///< [H] ALiBi, or undefined
  at::Tensor bias;         ///< [H, T or 1, >= T] or undefined
  at::Tensor sink_logits;  ///< [H] or undefined
  model::ScoreForm form = {};
  at::Tensor extra_key = {};  ///< [G, K] or undefined
};

/// Rows [first, first + count) of the attention pattern of every head: [H, count, T], in the type
/// of q. q [T, H, K] and k [T, G, K] after rotary. For the few who want maps; the kernels never
/// make them. `missing`, where given, becomes the part of each row that the sink logit or extra key
/// takes, [H, count, 1]; undefined without one.
at::Tensor pattern_rows(const at::Tensor& q, const at::Tensor& k, const ScoreRule& rule,
                        const Visibility& visibility, int64_t first, int64_t count,
                        at::Tensor* missing = nullptr);

}  // namespace sinkscope::forward
