#pragma once

#include <ATen/core/Tensor.h>

#include "sinkscope/model/model_spec.h"

namespace sinkscope::model {

/// What joins the softmax of every row beside the visible keys, and takes its share out of the row.
struct ExtraLogits {
  at::Tensor logits;  ///< broadcast with [.., H, R, 1]; undefined: nothing joins
};

/// Attention weights [.., H, R, S] of scaled (and capped) logits of the same shape: the one place
/// that says what a ScoreForm means. Differentiable; maps, training and the reference run it, and
/// the kernels are tested against it. `hidden` [R, S] bool: keys that a query does not see get 0,
/// and so does a whole row of a query that sees none. `extra` is for the softmax forms alone;
/// `extra_share`, where given, becomes its share of each row, [.., H, R, 1].
at::Tensor attention_weights(const ScoreForm& form, const at::Tensor& logits,
                             const at::Tensor& hidden, const ExtraLogits& extra = {},
                             at::Tensor* extra_share = nullptr);

}  // namespace sinkscope::model
