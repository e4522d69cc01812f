#pragma once

#include <cstdint>

#include "sinkscope/forward/attention_sums.h"
#include "sinkscope/model/model_spec.h"

namespace sinkscope::forward::kernels {

constexpr int64_t kBiasAlign = 64;  ///< the widest panel of keys of any kernel

/// Attention of one stream (sequence) in one layer. Query head h reads key/value head h / (H/G).
/// Logit l_ij = softcap(scale * q_i.k_j) + alibi_slope_h * (j - i) + bias_hij,
/// softcap(s) = c tanh(s / c),
/// then what `scores` makes of the visible keys. A softmax has the head's sink logit beside them,
/// whose share is dropped, or an extra key without position, l_i = softcap(scale * q_i.k'), whose
/// share goes to v'; a query that sees no other key gets nothing of it.
/// Not finite logits of visible keys are an error of the caller's (checked before).
struct AttentionProblem {
  int64_t tokens = 0;    ///< T
  int64_t heads = 0;     ///< H
  int64_t kv_heads = 0;  ///< G
  int64_t width = 0;     ///< K
  // Element (t, h, c) of q is q[t * q_stride + h * width + c]; likewise the others.
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  float* out = nullptr;  ///< z; a query that sees no key gets zeros
  int64_t q_stride = 0, k_stride = 0, v_stride = 0, out_stride = 0;
  float scale = 1;
  float softcap = 0;                    ///< 0: none
  const float* alibi_slopes = nullptr;  ///< [H] or null
  model::ScoreForm scores;
  const float* sink_logits = nullptr;  ///< [H] or null
  const float* extra_key = nullptr;    ///< [G, K] or null; not both
  const float* extra_value = nullptr;  ///< [G, K] or null: 0
  /// Element (h, i, j) is bias[h * bias_head_stride + i * bias_row_stride + j], readable for j up
  /// to T rounded up to kBiasAlign; null: none. Row stride 0 where the bias is one of the key; a
  /// whole map is only for models whose T is bounded by their image size (beit).
  const float* bias = nullptr;
  int64_t bias_head_stride = 0, bias_row_stride = 0;
  Visibility visibility;
  float event_mass = 0.5f;
  AttentionSums* sums = nullptr;  ///< [H], already resized; null: no statistics, no cost

  /// Whether rows have a part on no token (AttentionSums::row_missing).
  bool has_missing() const { return sink_logits != nullptr || extra_key != nullptr; }
};

/// Runs every problem (the streams of a layer). The numbers do not depend on the thread count.
using AttentionKernel = void (*)(const AttentionProblem* problems, int64_t count, int threads);

/// Float64 inside, one row at a time, written to be read: the judge of the others.
void attention_reference(const AttentionProblem* problems, int64_t count, int threads);
/// Blocks of query rows with ATen matrix products; also what a CUDA device runs.
void attention_aten(const AttentionProblem* problems, int64_t count, int threads);
/// Highway, the best instruction set of this CPU chosen at run time. Softmax only: problems of
/// another form go to attention_aten.
void attention_cpu(const AttentionProblem* problems, int64_t count, int threads);

}  // namespace sinkscope::forward::kernels
