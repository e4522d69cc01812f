#pragma once

#include <cstdint>

#include "sinkscope/model/model_spec.h"

/// Attention of short sequences, forward and backward: what one thread does with one key/value head
/// of one sequence. attention.h is the differentiable function around it.
namespace sinkscope::train::kernels {

/// Letters as in docs/architecture.md; float32, rows contiguous.
struct AttentionProblem {
  int64_t tokens = 0, heads = 0, kv_heads = 0, width = 0;  ///< T, H, G, K
  bool causal = true;
  float scale = 1;  ///< on q.k
  model::ScoreForm form;
  const float* qkv = nullptr;          ///< [B, T, (H + 2 G) K]: queries, keys, values
  const float* sinks = nullptr;        ///< [H] a logit in every row, or null
  const float* extra_key = nullptr;    ///< [H, K] or null; the softmax forms alone take these two
  const float* extra_value = nullptr;  ///< [H, K] or null: 0

  int64_t qkv_width() const { return (heads + 2 * kv_heads) * width; }
  bool extra() const { return sinks || extra_key; }
  /// Rows of weights have this length, zeros behind the last token.
  int64_t padded_tokens() const { return (tokens + 15) / 16 * 16; }
};

/// What the forward pass leaves for the backward pass, and their results.
struct AttentionForward {
  float* weights = nullptr;  ///< [B, H, T, padded T]; of the softmax forms the softmax
  float* shares = nullptr;   ///< [B, H, T] share of the extra logit; unused without one
  float* out = nullptr;      ///< [B, T, H K]
};
struct AttentionBackward {
  const float* weights = nullptr;
  const float* shares = nullptr;
  const float* d_out = nullptr;    ///< [B, T, H K]
  float* d_qkv = nullptr;          ///< as qkv, overwritten
  float* d_sinks = nullptr;        ///< [B, H], as the problem has them
  float* d_extra_key = nullptr;    ///< [B, H, K]
  float* d_extra_value = nullptr;  ///< [B, H, K]
};

/// Floats that one call of either needs, aligned to 64 bytes.
int64_t attention_scratch(const AttentionProblem& problem);

/// Sequence b, key/value head g, with all query heads that read it.
void attention_forward(const AttentionProblem& problem, const AttentionForward& forward, int64_t b,
                       int64_t g, float* scratch);
void attention_backward(const AttentionProblem& problem, const AttentionBackward& backward,
                        int64_t b, int64_t g, float* scratch);

}  // namespace sinkscope::train::kernels
