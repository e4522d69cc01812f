#pragma once

#include <ATen/core/Tensor.h>

#include "sinkscope/forward/stream.h"
#include "sinkscope/model/model.h"

/// What the reference pass (reference.h) does with images, in `type`.
namespace sinkscope::forward::reference {

/// [T, D]: prefix tokens and patches with their positions, the patch projection as the convolution
/// that it is.
at::Tensor embed_image(const model::Model& model, const Stream& stream, at::ScalarType type);

/// beit: the bias on the scores of a block, [H, T, T], from the table of offsets.
at::Tensor relative_bias(const model::Model& model, const Stream& stream, int64_t layer,
                         at::ScalarType type);

}  // namespace sinkscope::forward::reference
