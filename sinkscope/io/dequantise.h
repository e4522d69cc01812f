#pragma once

#include <cstddef>
#include <cstdint>

#include "sinkscope/io/tensor_source.h"

namespace sinkscope::io {

/// `elements` values of `type` at `in`, as float32, exactly as the format defines them (the
/// products scale x code in float32, in the order of the reference). `elements` is a multiple of
/// the block. Thread-safe; parallel callers split at block boundaries.
void dequantise(DType type, const std::byte* in, int64_t elements, float* out);

}  // namespace sinkscope::io
