#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sinkscope/forward/attention_sums.h"
#include "sinkscope/forward/tap.h"
#include "sinkscope/model/weights.h"

namespace sinkscope::forward {

/// Where the rows of a tensor belong: `rows` rows from `first_row` on are positions
/// `first_position`... of stream `stream`.
struct Segment {
  int64_t stream = 0;
  int64_t first_position = 0;
  int64_t first_row = 0;
  int64_t rows = 0;
};

/// Rows of one wanted tap. Valid only during the call; copy what must stay.
struct Activation {
  Tap tap;
  int layer = 0;
  at::Tensor rows;  ///< [N, ...] float32, the tap's shape with T replaced by the N rows
  std::span<const Segment> segments;
};

/// One layer after attention and MLP, with everything that still lies in memory then.
/// Rows of all tensors are those of `streams`; valid only during the call.
struct LayerState {
  int layer = 0;
  std::span<const Segment> streams;        ///< whole streams, in order, then forks
  std::span<const Visibility> visibility;  ///< by stream number, in this layer
  at::Tensor resid_pre;   ///< [N, D] only when an observer wanted kResidPre at this layer
  at::Tensor resid_post;  ///< [N, D]
  at::Tensor rot_q;       ///< [N, H, K]
  at::Tensor rot_k;       ///< [N, G, K]
  at::Tensor v;           ///< [N, G, K]
  at::Tensor z;           ///< [N, H, K] before a gate
  at::Tensor w_o;         ///< [D, H K] the block's output projection times LayerScale
  at::Tensor w_q;         ///< [H K, D]
  at::Tensor w_k;         ///< [G K, D]
  const model::BlockWeights* weights = nullptr;  ///< everything else of the block
  /// Row summaries by stream number and head; empty when no observer wanted them.
  std::span<const std::vector<AttentionSums>> sums;
  /// Rows [first, first + count) of a stream's final attention, [H, count, T], made anew: for what
  /// can be measured only once the sums are known. Costs as much as the attention itself.
  std::function<at::Tensor(int64_t stream, int64_t first, int64_t count)> pattern;
};

/// Receives what a forward pass computes; the pass keeps nothing for it.
class Observer {
 public:
  virtual ~Observer() = default;

  /// Asked once per tap and layer before the pass. A tap that nobody wants is not computed.
  virtual bool wants(Tap tap, int layer) const = 0;
  /// Row summaries of the attention of this layer.
  virtual bool wants_sums(int layer) const = 0;

  /// A wanted tap. Rows of a stream arrive in order of position, in one or several calls.
  /// kPattern arrives as [H, R, T] blocks of query rows of one stream (one segment).
  virtual void on_activation(const Activation&) {}
  /// Every layer, after its last activation.
  virtual void on_layer(const LayerState&) {}
};

}  // namespace sinkscope::forward
