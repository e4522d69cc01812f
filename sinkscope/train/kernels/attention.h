#pragma once

#include <ATen/core/Tensor.h>

#include "sinkscope/model/model_spec.h"

namespace sinkscope::train::kernels {

/// What one attention layer reads beside its queries, keys and values; undefined: it has none.
struct AttentionExtras {
  at::Tensor sinks;        ///< [H] a learned logit per head
  at::Tensor extra_key;    ///< [H K]
  at::Tensor extra_value;  ///< [H K]; needs extra_key
};

/// Attention of `spec` (heads, score form, mask, scale): qkv [B, T, (H + 2 G) K] -> [B, T, H K].
/// Differentiable once, in all its inputs. float32 on the CPU. One pass per head and sequence while
/// they are in the cache; the weights are all it keeps. Equal to model::attention_weights and two
/// products up to rounding, on which a test insists.
at::Tensor attention(const model::ModelSpec& spec, const at::Tensor& qkv,
                     const AttentionExtras& extras);

}  // namespace sinkscope::train::kernels
