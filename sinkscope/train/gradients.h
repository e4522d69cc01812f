#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "sinkscope/model/model_spec.h"
#include "sinkscope/train/network.h"
#include "sinkscope/train/options.h"
#include "sinkscope/train/parameters.h"
#include "sinkscope/train/task.h"

namespace sinkscope::train {

/// Loss of a batch and its gradient. The batch is cut into lanes, each with gradients of its own,
/// that threads take as wholes; a lane goes through its sequences in slices small enough that what
/// the forward pass leaves is still in the cache when the backward pass wants it. Sums over slices
/// and lanes have a fixed order: the result has the same bits for any number of threads.
class Gradients {
 public:
  struct Losses {
    double task = 0;     ///< mean over the counted tokens of the batch
    double penalty = 0;  ///< common_mode_penalty before its factor; 0 without one
  };

  /// Adds to the gradients of `parameters`, which must outlive this and whose values are shared.
  Gradients(const model::ModelSpec& spec, const Parameters& parameters);

  /// Of `options`: penalty and skip_first_loss. Sets parameters.gradients() to the gradient of
  /// task + options.penalty * penalty.
  Losses run(const Batch& batch, const TrainerOptions& options);

 private:
  struct Slice {
    at::Tensor objective;  ///< share in the batch's loss; its graph until backward() ran
    at::Tensor energies;   ///< [L, 2], where there is a penalty
  };
  Slice forward(int64_t lane, const Batch& slice, const at::Tensor& weights, bool penalty) const;
  /// Without a penalty the gradients are there afterwards; with one they need what all slices have
  /// in common first.
  std::vector<std::vector<Slice>> run_lanes(const Batch& batch, const TrainerOptions& options);
  double finish_with_penalty(std::vector<std::vector<Slice>>& lanes, double factor,
                             int64_t sequences) const;
  void sum_lanes(size_t count) const;

  model::ModelSpec spec_;
  const Parameters& parameters_;
  std::vector<Parameters> lanes_;  // as many as a batch has needed so far
};

}  // namespace sinkscope::train
