#pragma once

#include <ATen/core/Tensor.h>

#include "sinkscope/model/model_spec.h"

namespace sinkscope::forward {

/// Elementwise; kClampedSwiglu needs two halves and is not one of them.
at::Tensor activated(model::Activation activation, const at::Tensor& x);

}  // namespace sinkscope::forward
