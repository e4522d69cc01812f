#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace sinkscope::train {

struct OptimiserOptions {
  std::string name = "adamw";  ///< or "sgd"
  double rate = 1e-3;          ///< peak learning rate
  double weight_decay = 1e-4;
  double beta1 = 0.9, beta2 = 0.999;  ///< of adamw
  double epsilon = 1e-8;              ///< of adamw
  double momentum = 0;                ///< of sgd
  std::string schedule = "constant";  ///< or "cosine", "linear": from the peak to rate_end * peak
  double rate_end = 0;
  int64_t warmup = 0;  ///< steps over which the rate rises to its peak
  double clip = 0;     ///< largest norm of the gradient; 0: as it is
};

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
