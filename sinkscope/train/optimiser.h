#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "sinkscope/train/options.h"

namespace sinkscope::train {

/// Learning rate of step `step` (from 0) of `steps`.
double rate_at(const OptimiserOptions& options, int64_t step, int64_t steps);

/// One step on all parameters at once, in float32:
///   adamw  w -= rate decay w;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;
///          w -= rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)   (arXiv 1711.05101)
///   sgd    g += decay w;  m = momentum m + g;  w -= rate m
class Optimiser {
 public:
  /// Throws kUsage for an unknown name or schedule and for numbers out of range.
  Optimiser(const OptimiserOptions& options, int64_t parameters);

  /// `values`, `gradients` [P]; `step` from 0. Returns the norm of the gradient before clipping.
  double step(at::Tensor values, at::Tensor gradients, int64_t step, int64_t steps);

  /// m and v, [P]; what a resumed run needs beside the values.
  at::Tensor first() const { return first_; }
  at::Tensor second() const { return second_; }

 private:
  OptimiserOptions options_;
  at::Tensor first_, second_;
};

}  // namespace sinkscope::train
