#include "sinkscope/io/mxfp4.h"

#include <cmath>
#include <cstdint>
#include <limits>

namespace sinkscope::io {

void dequantise_mxfp4_pairs(std::span<const std::byte> blocks, std::span<const std::byte> scales,
                            std::span<float> out) {
  constexpr float kValues[16] = {0,     0.5f,  1,  1.5f,  2,  3,  4,  6,
                                 -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};
  for (size_t b = 0; b < scales.size(); ++b) {
    const int scale = static_cast<uint8_t>(scales[b]);
    const float factor =
        scale == 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, scale - 127);
    for (size_t i = 0; i < kMxfp4Block / 2; ++i) {
      const auto pair = static_cast<uint8_t>(blocks[b * (kMxfp4Block / 2) + i]);
      out[b * kMxfp4Block + 2 * i] = kValues[pair & 15] * factor;
      out[b * kMxfp4Block + 2 * i + 1] = kValues[pair >> 4] * factor;
    }
  }
}

}  // namespace sinkscope::io
