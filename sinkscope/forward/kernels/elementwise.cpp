#include "sinkscope/forward/kernels/elementwise.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sinkscope/forward/kernels/elementwise.cpp"
#include <hwy/foreach_target.h>
// clang-format off
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sinkscope::forward::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;

/// Sum of f(vector) over a row; the tail is handled by masked loads of zeros.
template <class F>
double sum_over(const float* x, int64_t width, F f) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sum0 = hn::Zero(d), sum1 = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * lanes <= width; i += 2 * lanes) {
    sum0 = hn::Add(sum0, f(hn::LoadU(d, x + i)));
    sum1 = hn::Add(sum1, f(hn::LoadU(d, x + i + lanes)));
  }
  double tail = 0;
  for (; i < width; ++i) tail += hn::GetLane(f(hn::Set(d, x[i])));
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1)))) + tail;
}

void RmsNorm(const float* x, int64_t rows, int64_t width, const float* gain, float epsilon,
             float* y) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < rows; ++r, x += width, y += width) {
    const double square = sum_over(x, width, [](auto v) { return hn::Mul(v, v); });
    const float factor =
        static_cast<float>(1 / std::sqrt(square / static_cast<double>(width) + epsilon));
    const auto scale = hn::Set(d, factor);
    int64_t i = 0;
    for (; i + lanes <= width; i += lanes) {
      hn::StoreU(hn::Mul(hn::Mul(hn::LoadU(d, x + i), scale), hn::LoadU(d, gain + i)), d, y + i);
    }
    for (; i < width; ++i) y[i] = x[i] * factor * gain[i];
  }
}

void LayerNorm(const float* x, int64_t rows, int64_t width, const float* gain, const float* bias,
               float epsilon, float* y) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < rows; ++r, x += width, y += width) {
    const float mean = static_cast<float>(sum_over(x, width, [](auto v) { return v; }) /
                                          static_cast<double>(width));
    const auto centre = hn::Set(d, mean);
    const double square = sum_over(x, width, [&](auto v) {
      const auto c = hn::Sub(v, centre);
      return hn::Mul(c, c);
    });
    const float factor =
        static_cast<float>(1 / std::sqrt(square / static_cast<double>(width) + epsilon));
    const auto scale = hn::Set(d, factor);
    int64_t i = 0;
    for (; i + lanes <= width; i += lanes) {
      const auto unit = hn::Mul(hn::Sub(hn::LoadU(d, x + i), centre), scale);
      const auto shift = bias ? hn::LoadU(d, bias + i) : hn::Zero(d);
      hn::StoreU(hn::MulAdd(unit, hn::LoadU(d, gain + i), shift), d, y + i);
    }
    for (; i < width; ++i) y[i] = (x[i] - mean) * factor * gain[i] + (bias ? bias[i] : 0);
  }
}

void Rotate(float* x, int64_t heads, int64_t head_width, int64_t rotary, const float* cos,
            const float* sin) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), half = rotary / 2;
  for (int64_t h = 0; h < heads; ++h, x += head_width) {
    int64_t i = 0;
    for (; i + lanes <= half; i += lanes) {
      const auto a = hn::LoadU(d, x + i), b = hn::LoadU(d, x + half + i);
      const auto c = hn::LoadU(d, cos + i), s = hn::LoadU(d, sin + i);
      hn::StoreU(hn::NegMulAdd(b, s, hn::Mul(a, c)), d, x + i);
      hn::StoreU(hn::MulAdd(a, s, hn::Mul(b, c)), d, x + half + i);
    }
    for (; i < half; ++i) {
      const float a = x[i], b = x[half + i];
      x[i] = a * cos[i] - b * sin[i];
      x[half + i] = b * cos[i] + a * sin[i];
    }
  }
}

void SiluMultiply(const float* gate, const float* up, int64_t count, float* y) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto one = hn::Set(d, 1.0f);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto g = hn::LoadU(d, gate + i);
    const auto silu = hn::Div(g, hn::Add(one, hn::Exp(d, hn::Neg(g))));
    hn::StoreU(hn::Mul(silu, hn::LoadU(d, up + i)), d, y + i);
  }
  for (; i < count; ++i) y[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
}

}  // namespace sinkscope::forward::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sinkscope::forward::kernels {

HWY_EXPORT(RmsNorm);
HWY_EXPORT(LayerNorm);
HWY_EXPORT(Rotate);
HWY_EXPORT(SiluMultiply);

void rms_norm(const float* x, int64_t rows, int64_t width, const float* gain, float epsilon,
              float* y) {
  HWY_DYNAMIC_DISPATCH(RmsNorm)(x, rows, width, gain, epsilon, y);
}
void layer_norm(const float* x, int64_t rows, int64_t width, const float* gain, const float* bias,
                float epsilon, float* y) {
  HWY_DYNAMIC_DISPATCH(LayerNorm)(x, rows, width, gain, bias, epsilon, y);
}
void rotate(float* x, int64_t heads, int64_t head_width, int64_t rotary, const float* cos,
            const float* sin) {
  HWY_DYNAMIC_DISPATCH(Rotate)(x, heads, head_width, rotary, cos, sin);
}
// Few families pair neighbours: not worth a kernel.
void rotate_pairs(float* x, int64_t heads, int64_t head_width, int64_t rotary, const float* cos,
                  const float* sin) {
  for (int64_t h = 0; h < heads; ++h, x += head_width) {
    for (int64_t i = 0; i < rotary / 2; ++i) {
      const float a = x[2 * i], b = x[2 * i + 1];
      x[2 * i] = a * cos[i] - b * sin[i];
      x[2 * i + 1] = b * cos[i] + a * sin[i];
    }
  }
}
void silu_multiply(const float* gate, const float* up, int64_t count, float* y) {
  HWY_DYNAMIC_DISPATCH(SiluMultiply)(gate, up, count, y);
}

}  // namespace sinkscope::forward::kernels
#endif
