#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "sinkscope/forward/edit.h"
#include "sinkscope/forward/kernels/attention.h"
#include "sinkscope/forward/observer.h"
#include "sinkscope/forward/stream.h"
#include "sinkscope/model/model.h"

namespace sinkscope::forward {

struct RunOptions {
  bool bfloat16 = false;  ///< weights and the inputs of linear layers in bfloat16, sums in float32
  int threads = 0;        ///< 0: every core this process may use
  int64_t chunk_rows =
      512;  ///< rows of a linear layer at once: fewer lose speed below 256, more leave the cache
  kernels::AttentionKernel attention = kernels::attention_cpu;
  float event_mass = 0.5f;  ///< counted in AttentionSums::key_events
  /// Called after each of the L + 1 steps (embedding and blocks, then the head); returning false
  /// stops the pass with Error{kInterrupted}.
  std::function<bool(int step, int steps)> progress;
};

/// Layer-major forward pass: for each block its weights are brought in once, all streams advance
/// through it, the weights are dropped. Memory: one block's weights, the residual of all streams
/// [N, D], and q, k, v, z of one layer; never a T x T map.
///
/// The residual rows of all streams lie in one tensor. A fork is a copy of its stream's rows,
/// appended before the first block that it edits, which then joins the batch for the remaining
/// layers: this is why blocks run on row ranges ("segments") and not on sequences.
class Runner {
 public:
  Runner(const model::Model& model, RunOptions options);

  /// Throws what check_stream() throws, and kBadNumbers naming layer, position and channel when the
  /// residual becomes non-finite.
  void run(std::span<const Stream> streams, std::span<Observer* const> observers) {
    run(streams, {}, observers);
  }
  /// The same with forks, which observers see as further streams. Logits and final states of a fork
  /// come after those of its parent for the same positions.
  void run(std::span<const Stream> streams, std::span<const Fork> forks,
           std::span<Observer* const> observers);

  /// Bytes that `run` will hold at its peak for streams and forks of these lengths, statistics
  /// included.
  int64_t planned_bytes(std::span<const int64_t> lengths) const;
  /// Most rows of final states and logits that are offered in one call.
  int64_t rows_at_once() const { return options_.chunk_rows; }

 private:
  const model::Model& model_;
  RunOptions options_;
};

}  // namespace sinkscope::forward
