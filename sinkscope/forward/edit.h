#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "sinkscope/forward/stream.h"

namespace sinkscope::forward {

// Interventions (method.md section 6): what a fork of a stream does otherwise than its parent.
// Blocks, heads and positions count from 0; heads are query heads, and an edit of one leaves the
// others of its key/value group as they are. Edits of one fork add up, in the order given.

inline constexpr int64_t kAllHeads = -1;

/// v at `position` <- `value` [K], or 0 where it is undefined; the weights stay. `for_others`: the
/// query at `position` itself keeps what it had.
struct ValueEdit {
  int64_t layer = 0, head = 0, position = 0;
  at::Tensor value = {};
  bool for_others = false;
};

/// Adds `offset` to the logits of the key at `position`. kRemoved: the key gets no attention and
/// the rest of each row is normalised anew; a query that sees no other key stays as it is.
inline constexpr float kRemoved = -1e30f;
struct ColumnEdit {
  int64_t layer = 0, head = kAllHeads, position = 0;
  float offset = kRemoved;
  /// Above 0, with kRemoved: what is left of a row is divided by at least this much, so a query
  /// with less attention for other keys gets next to nothing. Of normalised scores.
  double floor = 0;
};

/// z of the head <- `z`: undefined: 0; [K]: the same for every token; [T, K].
struct HeadEdit {
  int64_t layer = 0, head = 0;
  at::Tensor z = {};
};

/// z_i <- A_ii v_i + A_is payload, s = `sink`: nothing of the other tokens (method.md section 11).
struct LocalEdit {
  int64_t layer = 0, head = 0, sink = 0;
  at::Tensor payload = {};  ///< [K]
};

/// What the query at `position` sees, in every head: only itself, or every key of the stream.
enum class RowView { kSelf, kAll };
struct RowEdit {
  int64_t layer = 0, position = 0;
  RowView view = RowView::kSelf;
};

/// Queries see the last `window` keys, themselves included.
struct WindowEdit {
  int64_t layer = 0, window = 1;
};

/// What a branch adds to the residual at `position`, times `factor`.
enum class Branch { kAttention, kMlp };
struct BranchEdit {
  int64_t layer = 0, position = 0;
  Branch branch = Branch::kAttention;
  float factor = 0;
};

/// Message of the global pathway <- `message` [1, P], which every token still receives through its
/// own gate; undefined: the pathway adds nothing.
struct PathwayEdit {
  int64_t layer = 0;
  at::Tensor message = {};
};

/// Residual before the block: `channels` <- `values`, at `position` or everywhere (-1).
struct ChannelEdit {
  int64_t layer = 0, position = -1;
  std::vector<int64_t> channels;
  std::vector<float> values;
};

/// Before every norm of the block: position 0 keeps the first `channels` channels, the others the
/// rest (force-sink, method.md section 17).
struct SplitEdit {
  int64_t layer = 0, channels = 0;
};

using Edit = std::variant<ValueEdit, ColumnEdit, HeadEdit, LocalEdit, RowEdit, WindowEdit,
                          BranchEdit, PathwayEdit, ChannelEdit, SplitEdit>;

/// A copy of stream `parent` that leaves it before the first block that an edit names. Stream
/// number in a pass: the number of streams plus its place among the forks.
struct Fork {
  int64_t parent = 0;
  std::vector<Edit> edits;
};

int64_t layer_of(const Edit& edit);
/// Throws kInternal when `edits` is empty.
int64_t first_layer(const Fork& fork);

/// Throws kUsage naming the edit's block, head, position or channel and the range allowed, or what
/// its tensor should be.
void check_fork(const model::ModelSpec& spec, const Fork& fork, std::span<const Stream> streams);

}  // namespace sinkscope::forward
