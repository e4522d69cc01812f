#include "sinkscope/train/kernels/matrix.h"

#include <algorithm>
#include <memory>

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
// From this row length on, the rows of a panel that is read in place fall on few lines of the first
// cache: then panels are copied.
constexpr int64_t kLongRow = 129;
constexpr int64_t kBlockColumns = 128;

/// Columns [0, columns) of `rows` rows, side by side.
HWY_INLINE void copy_panel(const float* from, int64_t row, int64_t rows, int64_t columns,
                           float* to) {
  for (int64_t r = 0; r < rows; ++r) {
    std::copy(from + r * row, from + r * row + columns, to + r * kPanel);
  }
}

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
  const bool copied = s.inputs >= kLongRow;
  const int64_t width = copied ? kPanel : kBlockColumns;
  const std::unique_ptr<float[]> panels(
      copied ? new float[static_cast<size_t>(packed_size({0, s.outputs, s.inputs}))] : nullptr);
  for (int64_t c = 0; copied && c < s.inputs; c += kPanel) {
    copy_panel(w + c, s.inputs, s.outputs, std::min(kPanel, s.inputs - c),
               panels.get() + c * s.outputs);
  }
  for (int64_t row = first; row < last; row += kBlockRows) {
    const int64_t end = std::min(last, row + kBlockRows);
    for (int64_t c = 0; c < s.inputs; c += width) {
      const Right weights =
          copied ? Right{panels.get() + c * s.outputs, kPanel} : Right{w + c, s.inputs};
      product({d_y, s.outputs, 1}, weights, {d_x + c, s.inputs, false}, row, end,
              [&](int64_t, int64_t) {
                return Extent{0, s.outputs, std::min(width, s.inputs - c)};
              });
    }
  }
}

void LinearWeights(const LinearShape& s, const float* d_y, const float* x, int64_t first,
                   int64_t last, float* d_w) {
  // With many panels of x a transposed copy of the slopes pays.
  const bool copied = s.inputs >= kLongRow;
  const std::unique_ptr<float[]> slopes(
      copied ? new float[static_cast<size_t>((last - first) * kBlockRows)] : nullptr);
  HWY_ALIGN float panel[kBlockRows * kPanel];
  for (int64_t row = 0; row < s.rows; row += kBlockRows) {
    const int64_t terms = std::min(kBlockRows, s.rows - row);
    const float* from = d_y + row * s.outputs + first;
    if (copied) {
      transpose(from, s.outputs, terms, last - first, slopes.get(), kBlockRows);
    }
    const Left left = copied ? Left{slopes.get(), kBlockRows, 1} : Left{from, 1, s.outputs};
    for (int64_t c = 0; c < s.inputs; c += kPanel) {
      const int64_t columns = std::min(kPanel, s.inputs - c);
      const float* x_panel = x + row * s.inputs + c;
      if (copied) copy_panel(x_panel, s.inputs, terms, columns, panel);
      product(left, copied ? Right{panel, kPanel} : Right{x_panel, s.inputs},
              {d_w + first * s.inputs + c, s.inputs, row > 0}, 0, last - first,
              [&](int64_t, int64_t) {
                return Extent{0, terms, columns};
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
