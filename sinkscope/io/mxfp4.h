#pragma once

#include <cstddef>
#include <span>

namespace sinkscope::io {

inline constexpr int kMxfp4Block = 32;  ///< elements that share a scale

/// MXFP4 as hub files hold it: 16 bytes per block, element 2i in the low half of byte i and 2i + 1
/// in the high half, and one scale byte s per block that stands for 2^(s - 127). (GGUF keeps the
/// scale beside the block and orders the halves differently: DType::kMXFP4.) `out` has 2 x
/// blocks.size() elements, a multiple of kMxfp4Block; a scale of 255 gives NaN.
///
/// Source: OCP Microscaling Formats (MX) Specification v1.0, sections 5.3.3 and 5.4.1.
void dequantise_mxfp4_pairs(std::span<const std::byte> blocks, std::span<const std::byte> scales,
                            std::span<float> out);

}  // namespace sinkscope::io
