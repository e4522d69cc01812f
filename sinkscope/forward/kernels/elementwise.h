#pragma once

#include <cstdint>

namespace sinkscope::forward::kernels {

// Row operations of a block on contiguous float32 rows, for the CPU; Highway, best instruction
// set at run time. Sums run in float64 over partial float sums of a vector each.

/// y = x / sqrt(mean(x^2) + epsilon) * gain, per row of `width`.
void rms_norm(const float* x, int64_t rows, int64_t width, const float* gain, float epsilon,
              float* y);

/// y = (x - mean) / sqrt(var + epsilon) * gain + bias, per row of `width`; bias may be null.
void layer_norm(const float* x, int64_t rows, int64_t width, const float* gain, const float* bias,
                float epsilon, float* y);

/// Rotates the first `rotary` channels of each of `heads` heads in pairs (i, i + rotary/2):
/// heads lie at x[row * stride + head * head_width]. cos, sin: [rotary/2] for this row's position.
void rotate(float* x, int64_t heads, int64_t head_width, int64_t rotary, const float* cos,
            const float* sin);

/// The same for pairs (2i, 2i + 1).
void rotate_pairs(float* x, int64_t heads, int64_t head_width, int64_t rotary, const float* cos,
                  const float* sin);

/// y[i] = silu(gate[i]) * up[i].
void silu_multiply(const float* gate, const float* up, int64_t count, float* y);

}  // namespace sinkscope::forward::kernels
