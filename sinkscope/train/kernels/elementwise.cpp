#include "sinkscope/train/kernels/elementwise.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sinkscope/train/kernels/elementwise.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sinkscope::train::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 16>;
using One = hn::CappedTag<float, 1>;

/// f(tag, i) for whole vectors, then for single numbers.
template <class F>
HWY_INLINE void each(int64_t count, F f) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) f(d, i);
  for (; i < count; ++i) f(One(), i);
}

/// Coefficients from the highest power down.
template <class D, size_t kCount>
HWY_INLINE hn::Vec<D> polynomial(D d, hn::Vec<D> x, const float (&coefficients)[kCount]) {
  hn::Vec<D> y = hn::Set(d, coefficients[0]);
  for (size_t i = 1; i < kCount; ++i) y = hn::MulAdd(y, x, hn::Set(d, coefficients[i]));
  return y;
}

/// The rational function of Eigen's float erf, to a few units in the last place; 1 from 4 up.
template <class D>
HWY_INLINE hn::Vec<D> erf(D d, hn::Vec<D> x) {
  x = hn::Min(hn::Max(x, hn::Set(d, -4.0f)), hn::Set(d, 4.0f));
  const auto xx = hn::Mul(x, x);
  const auto p = polynomial(d, xx,
                            {-2.72614225801306e-10f, 2.77068142495902e-08f, -2.10102402082508e-06f,
                             -5.69250639462346e-05f, -7.34990630326855e-04f, -2.95459980854025e-03f,
                             -1.60960333262415e-02f});
  const auto q = polynomial(d, xx,
                            {-1.45660718464996e-05f, -2.13374055278905e-04f, -1.68282697438203e-03f,
                             -7.37332916720468e-03f, -1.42647390514189e-02f});
  return hn::Div(hn::Mul(x, p), q);
}

void Gelu(int64_t rows, int64_t width, const float* bias, float* x, float* slope) {
  for (int64_t r = 0; r < rows; ++r, x += width, slope += width) {
    each(width, [&](auto d, int64_t i) {
      auto v = hn::LoadU(d, x + i);
      if (bias) v = hn::Add(v, hn::LoadU(d, bias + i));
      const auto half = hn::Set(d, 0.5f);
      const auto below =
          hn::MulAdd(half, erf(d, hn::Mul(v, hn::Set(d, 0.70710678118654752f))), half);
      const auto density = hn::Mul(hn::Set(d, 0.39894228040143268f),
                                   hn::Exp(d, hn::Mul(hn::Mul(v, v), hn::Set(d, -0.5f))));
      hn::StoreU(hn::MulAdd(v, density, below), d, slope + i);
      hn::StoreU(hn::Mul(v, below), d, x + i);
    });
  }
}

void Relu(int64_t rows, int64_t width, const float* bias, float* x) {
  for (int64_t r = 0; r < rows; ++r, x += width) {
    each(width, [&](auto d, int64_t i) {
      auto v = hn::LoadU(d, x + i);
      if (bias) v = hn::Add(v, hn::LoadU(d, bias + i));
      hn::StoreU(hn::Max(v, hn::Zero(d)), d, x + i);
    });
  }
}

template <bool kRelu>
HWY_INLINE void deactivate_rows(int64_t rows, int64_t width, const float* slope, float* x,
                                float* sum) {
  for (int64_t r = 0; r < rows; ++r, x += width, slope += width) {
    each(width, [&](auto d, int64_t i) {
      const auto s = hn::LoadU(d, slope + i);
      auto v = hn::LoadU(d, x + i);
      v = kRelu ? hn::IfThenElseZero(hn::Gt(s, hn::Zero(d)), v) : hn::Mul(s, v);
      hn::StoreU(v, d, x + i);
      hn::StoreU(hn::Add(hn::LoadU(d, sum + i), v), d, sum + i);
    });
  }
}
void DeactivateGelu(int64_t rows, int64_t width, const float* slope, float* x, float* sum) {
  deactivate_rows<false>(rows, width, slope, x, sum);
}
void DeactivateRelu(int64_t rows, int64_t width, const float* slope, float* x, float* sum) {
  deactivate_rows<true>(rows, width, slope, x, sum);
}

double SquaredError(int64_t rows, int64_t width, const float* x, const float* target,
                    const float* weights, float* d_x) {
  double total = 0;
  for (int64_t r = 0; r < rows; ++r, x += width, target += width, d_x += width) {
    const float weight = weights[r] / static_cast<float>(width);
    float sums[HWY_MAX_BYTES / sizeof(float)] = {};
    each(width, [&](auto d, int64_t i) {
      const auto off = hn::Sub(hn::LoadU(d, x + i), hn::LoadU(d, target + i));
      hn::StoreU(hn::Mul(off, hn::Set(d, 2 * weight)), d, d_x + i);
      hn::StoreU(hn::MulAdd(off, off, hn::LoadU(d, sums)), d, sums);
    });
    float sum = 0;
    for (const float s : sums) sum += s;
    total += static_cast<double>(sum) * weight;
  }
  return total;
}

}  // namespace sinkscope::train::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sinkscope::train::kernels {

HWY_EXPORT(Gelu);
HWY_EXPORT(Relu);
HWY_EXPORT(DeactivateGelu);
HWY_EXPORT(DeactivateRelu);
HWY_EXPORT(SquaredError);

void activate(model::Activation activation, int64_t rows, int64_t width, const float* bias,
              float* x, float* slope) {
  if (activation == model::Activation::kRelu) {
    HWY_DYNAMIC_DISPATCH(Relu)(rows, width, bias, x);
  } else {
    HWY_DYNAMIC_DISPATCH(Gelu)(rows, width, bias, x, slope);
  }
}
void deactivate(model::Activation activation, int64_t rows, int64_t width, const float* slope,
                float* d, float* sum) {
  if (activation == model::Activation::kRelu) {
    HWY_DYNAMIC_DISPATCH(DeactivateRelu)(rows, width, slope, d, sum);
  } else {
    HWY_DYNAMIC_DISPATCH(DeactivateGelu)(rows, width, slope, d, sum);
  }
}
double squared_error(int64_t rows, int64_t width, const float* x, const float* target,
                     const float* weights, float* d) {
  return HWY_DYNAMIC_DISPATCH(SquaredError)(rows, width, x, target, weights, d);
}

}  // namespace sinkscope::train::kernels
#endif
