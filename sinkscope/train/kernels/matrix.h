#pragma once

#include <cstdint>

/// The three products of a linear layer, for the long and narrow matrices of small models: at these
/// shapes nearly what the machine can do, and a fifth above a BLAS, which copies its operands
/// first. float32, rows contiguous. Each call does part of a result, one thread's; the parts do not
/// depend on how the whole is cut.
namespace sinkscope::train::kernels {

/// A linear layer over N rows: x [N, inputs], w [outputs, inputs], y [N, outputs].
struct LinearShape {
  int64_t rows = 0, inputs = 0, outputs = 0;
};

/// Floats of packed weights.
int64_t packed_size(const LinearShape& shape);
/// w as the first product reads it.
void pack_weights(const LinearShape& shape, const float* w, float* packed);

/// y = x w^T + bias (null: 0), rows [first, last).
void linear_forward(const LinearShape& shape, const float* x, const float* packed,
                    const float* bias, int64_t first, int64_t last, float* y);
/// d_x = d_y w, rows [first, last).
void linear_inputs(const LinearShape& shape, const float* d_y, const float* w, int64_t first,
                   int64_t last, float* d_x);
/// d_w = d_y^T x, rows [first, last) of d_w.
void linear_weights(const LinearShape& shape, const float* d_y, const float* x, int64_t first,
                    int64_t last, float* d_w);

}  // namespace sinkscope::train::kernels
