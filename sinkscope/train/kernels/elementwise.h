#pragma once

#include <cstdint>

#include "sinkscope/model/model_spec.h"

/// Passes over rows [rows, width] that LibTorch would make one by one. One thread.
namespace sinkscope::train::kernels {

/// x += bias (null: 0), then x = a(x) for GELU (with erf) or ReLU; GELU also leaves its derivative
/// in `slope`, which ReLU does not need (null).
void activate(model::Activation activation, int64_t rows, int64_t width, const float* bias,
              float* x, float* slope);
/// d *= a' and adds the columns of the result to `sum` [width]. `slope`: GELU's derivative, or what
/// ReLU gave.
void deactivate(model::Activation activation, int64_t rows, int64_t width, const float* slope,
                float* d, float* sum);

/// sum_r weight_r mean_c (x - target)^2; its gradient along x goes to d.
double squared_error(int64_t rows, int64_t width, const float* x, const float* target,
                     const float* weights, float* d);

}  // namespace sinkscope::train::kernels
