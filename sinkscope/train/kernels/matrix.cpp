#include "sinkscope/train/kernels/matrix.h"

#include <algorithm>

// Arrays of vectors need a size known to the compiler, which scalable vectors lack.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sinkscope/train/kernels/matrix.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include "sinkscope/train/kernels/products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sinkscope::train::kernels::HWY_NAMESPACE {

constexpr int64_t kPanel = 32;       // columns of packed weights
constexpr int64_t kBlockRows = 128;  // their rows of x stay in the first two caches
constexpr int64_t kBlockColumns = 128;

void PackWeights(const LinearShape& s, const float* w, float* packed) {
  for (int64_t first = 0; first < s.outputs; first += kPanel) {
    transpose(w + first * s.inputs, s.inputs, std::min(kPanel, s.outputs - first), s.inputs,
              packed + first * s.inputs, kPanel);
  }
}

void LinearForward(const LinearShape& s, const float* x, const float* packed, const float* bias,
                   int64_t first, int64_t last, float* y) {
  for (int64_t row = first; row < last; row += kBlockRows) {
    const int64_t end = std::min(last, row + kBlockRows);
    for (int64_t r = row; bias && r < end; ++r) {
      std::copy(bias, bias + s.outputs, y + r * s.outputs);
    }
    for (int64_t c = 0; c < s.outputs; c += kPanel) {
      product({x, s.inputs, 1}, {packed + c * s.inputs, kPanel},
              {y + c, s.outputs, bias != nullptr}, row, end, [&](int64_t, int64_t) {
                return Extent{0, s.inputs, std::min(kPanel, s.outputs - c)};
              });
    }
  }
}

void LinearInputs(const LinearShape& s, const float* d_y, const float* w, int64_t first,
                  int64_t last, float* d_x) {
  for (int64_t row = first; row < last; row += kBlockRows) {
    const int64_t end = std::min(last, row + kBlockRows);
    for (int64_t c = 0; c < s.inputs; c += kBlockColumns) {
      product({d_y, s.outputs, 1}, {w + c, s.inputs}, {d_x + c, s.inputs, false}, row, end,
              [&](int64_t, int64_t) {
                return Extent{0, s.outputs, std::min(kBlockColumns, s.inputs - c)};
              });
    }
  }
}

void LinearWeights(const LinearShape& s, const float* d_y, const float* x, int64_t first,
                   int64_t last, float* d_w) {
  for (int64_t row = 0; row < s.rows; row += kBlockRows) {
    const int64_t terms = std::min(kBlockRows, s.rows - row);
    for (int64_t c = 0; c < s.inputs; c += kPanel) {
      product({d_y + row * s.outputs, 1, s.outputs}, {x + row * s.inputs + c, s.inputs},
              {d_w + c, s.inputs, row > 0}, first, last, [&](int64_t, int64_t) {
                return Extent{0, terms, std::min(kPanel, s.inputs - c)};
              });
    }
  }
}

}  // namespace sinkscope::train::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sinkscope::train::kernels {

HWY_EXPORT(PackWeights);
HWY_EXPORT(LinearForward);
HWY_EXPORT(LinearInputs);
HWY_EXPORT(LinearWeights);

int64_t packed_size(const LinearShape& shape) {
  return (shape.outputs + 31) / 32 * 32 * shape.inputs;  // whole panels
}
void pack_weights(const LinearShape& shape, const float* w, float* packed) {
  HWY_DYNAMIC_DISPATCH(PackWeights)(shape, w, packed);
}
void linear_forward(const LinearShape& shape, const float* x, const float* packed,
                    const float* bias, int64_t first, int64_t last, float* y) {
  HWY_DYNAMIC_DISPATCH(LinearForward)(shape, x, packed, bias, first, last, y);
}
void linear_inputs(const LinearShape& shape, const float* d_y, const float* w, int64_t first,
                   int64_t last, float* d_x) {
  HWY_DYNAMIC_DISPATCH(LinearInputs)(shape, d_y, w, first, last, d_x);
}
void linear_weights(const LinearShape& shape, const float* d_y, const float* x, int64_t first,
                    int64_t last, float* d_w) {
  HWY_DYNAMIC_DISPATCH(LinearWeights)(shape, d_y, x, first, last, d_w);
}

}  // namespace sinkscope::train::kernels
#endif
