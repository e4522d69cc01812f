#pragma once

#include <ATen/core/Tensor.h>

#include "sinkscope/model/model_spec.h"
#include "sinkscope/model/weights.h"

/// Pieces of a lab model as one differentiable function each, once, in float32 on the CPU.
namespace sinkscope::train::kernels {

/// x weight^T + bias. x [.., inputs], weight [outputs, inputs]; the bias may be undefined.
at::Tensor linear(const at::Tensor& x, const model::Linear& weights);

/// down(a(up(x))), a GELU (with erf) or ReLU. x [.., D]; biases may be undefined.
at::Tensor mlp(model::Activation activation, const at::Tensor& x, const model::Linear& up,
               const model::Linear& down);

/// sum over rows of weight * mean over channels of (x - target)^2, a scalar. x, target [.., D],
/// weights [..]; differentiable in x alone.
at::Tensor weighted_squared_error(const at::Tensor& x, const at::Tensor& target,
                                  const at::Tensor& weights);

}  // namespace sinkscope::train::kernels
