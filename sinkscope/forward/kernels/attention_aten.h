#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "sinkscope/forward/attention_sums.h"
#include "sinkscope/model/model_spec.h"

namespace sinkscope::forward::kernels {

/// Attention of one stream, in tensors of one type (float32, or float64 to judge it) on one device
/// (CPU or CUDA). The meaning of the fields is AttentionProblem's.
struct TensorAttention {
  at::Tensor q;  ///< [T, H, K]
  at::Tensor k;  ///< [T, G, K]
  at::Tensor v;  ///< [T, G, K]
  double scale = 1;
  double softcap = 0;
  at::Tensor alibi_slopes;  ///< [H], undefined: none
  at::Tensor bias;          ///< [H, T, T], undefined: none
  model::ScoreForm scores;
  at::Tensor sink_logits;  ///< [H], undefined: none
  at::Tensor extra_key;    ///< [G, K], undefined: none
  at::Tensor extra_value;  ///< [G, K], undefined: 0
  Visibility visibility;
  double event_mass = 0.5;
  bool with_sums = false;
  int64_t block_rows = 128;  ///< memory: a few tensors of [H, block_rows, T]
};

/// On the device of the input. Without sums, only `out` is defined.
struct TensorAttentionResult {
  at::Tensor out;                                ///< [T, H, K]
  at::Tensor key_mass, key_mass_sq;              ///< [H, T] float64
  at::Tensor key_events;                         ///< [H, T] int64
  at::Tensor row_entropy, row_square, row_self;  ///< [H, T] float64
  at::Tensor row_missing;  ///< [H, T] float64; undefined: no sink logit or extra key
};

/// Blocks of query rows, a matrix product each; no T x T tensor exists.
TensorAttentionResult attention_tensors(const TensorAttention& attention);

}  // namespace sinkscope::forward::kernels
