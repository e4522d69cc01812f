#pragma once

#include <ATen/core/Tensor.h>

#include "sinkscope/model/weights.h"

namespace sinkscope::model {

/// What the global pathway (method.md section 17) adds to the attention update, [.., T, D]: one
/// message of the whole sequence, gathered by weights of its own, times a gate of each token,
///
///   pi = softmax_j(select z_j), g = sum_j pi_j value z_j, update_i = sigmoid(gate z_i) out g
///
/// z [.., T, D] is the block's normed input, of the type of the weights; leading dimensions are
/// sequences of their own. Differentiable: training and the forward pass run it.
at::Tensor pathway_update(const at::Tensor& z, const Linear& select, const Linear& value,
                          const Linear& gate, const Linear& out);

/// Its two halves: g [.., 1, P], and what a message g adds to the tokens that receive it.
at::Tensor pathway_message(const at::Tensor& z, const Linear& select, const Linear& value);
at::Tensor pathway_delivery(const at::Tensor& z, const at::Tensor& message, const Linear& gate,
                            const Linear& out);

}  // namespace sinkscope::model
