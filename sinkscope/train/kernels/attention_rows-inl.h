// Compiled once per instruction set, hence the guard that toggles.
#if defined(SINKSCOPE_TRAIN_ATTENTION_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SINKSCOPE_TRAIN_ATTENTION_ROWS_INL_H_
#undef SINKSCOPE_TRAIN_ATTENTION_ROWS_INL_H_
#else
#define SINKSCOPE_TRAIN_ATTENTION_ROWS_INL_H_
#endif

#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "sinkscope/train/kernels/attention_kernel.h"
#include "sinkscope/train/kernels/products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sinkscope::train::kernels::HWY_NAMESPACE {

/// A row of attention: products q.k become what is kept for the backward pass, that becomes
/// weights, and slopes along weights become slopes along products. Kept are the softmax of the
/// softmax forms and the weights of the others; each row is zero behind its `visible` keys. The
/// slow clear twin is model::attention_weights.
class RowForm {
 public:
  explicit RowForm(const AttentionProblem& problem)
      : kind_(problem.form.kind),
        scale_(problem.scale),
        low_(static_cast<float>(problem.form.stretch_low)),
        stretch_(static_cast<float>(problem.form.stretch_high - problem.form.stretch_low)),
        bias_(static_cast<float>(problem.form.bias)),
        length_(problem.padded_tokens()) {}

  bool softmax() const {
    return kind_ == model::ScoreKind::kSoftmax || kind_ == model::ScoreKind::kClipped;
  }
  /// Whether weights are something else than what is kept.
  bool clipped() const { return kind_ == model::ScoreKind::kClipped; }

  /// In place. `extra`: the extra logit, minus infinity where there is none; returns its share.
  HWY_INLINE float keep(float* HWY_RESTRICT row, int64_t visible, float extra) const {
    float share = 0;
    if (softmax()) {
      share = keep_softmax(row, visible, extra);
    } else if (kind_ == model::ScoreKind::kSigmoid) {
      const Vec scale = hn::Set(d_, -scale_), bias = hn::Set(d_, -bias_), one = hn::Set(d_, 1.0f);
      each(visible, [&](int64_t i) {
        const Vec e = hn::Exp(d_, hn::MulAdd(hn::LoadU(d_, row + i), scale, bias));
        hn::StoreU(hn::Div(one, hn::Add(one, e)), d_, row + i);
      });
    } else {
      const Vec factor = hn::Set(d_, scale_ / static_cast<float>(visible));
      each(visible, [&](int64_t i) {
        hn::StoreU(hn::Max(hn::Mul(hn::LoadU(d_, row + i), factor), hn::Zero(d_)), d_, row + i);
      });
    }
    std::fill(row + visible, row + length_, 0.0f);
    return share;
  }

  /// Weights of a kept row of a clipped form.
  HWY_INLINE void clip(const float* HWY_RESTRICT kept, int64_t visible,
                       float* HWY_RESTRICT weights) const {
    each(visible, [&](int64_t i) { hn::StoreU(clamp(stretched(kept + i)), d_, weights + i); });
    std::fill(weights + visible, weights + length_, 0.0f);
  }

  /// `slope`: along the weights; becomes that along the products. `shift` is taken off each before.
  /// Returns sum_j kept_j slope_j over the keys: minus the extra logit's own slope by its share.
  HWY_INLINE float slopes(const float* HWY_RESTRICT kept, int64_t visible, float shift,
                          float* HWY_RESTRICT slope) const {
    const Vec off = hn::Set(d_, shift), scale = hn::Set(d_, scale_), one = hn::Set(d_, 1.0f);
    float mean = 0;
    if (softmax()) {
      mean = softmax_slopes(kept, visible, off, slope);
    } else if (kind_ == model::ScoreKind::kSigmoid) {
      each(visible, [&](int64_t i) {
        const Vec w = hn::LoadU(d_, kept + i), g = hn::Sub(hn::LoadU(d_, slope + i), off);
        hn::StoreU(hn::Mul(hn::Mul(g, scale), hn::Mul(w, hn::Sub(one, w))), d_, slope + i);
      });
    } else {
      const Vec factor = hn::Set(d_, scale_ / static_cast<float>(visible));
      each(visible, [&](int64_t i) {
        const auto on = hn::Gt(hn::LoadU(d_, kept + i), hn::Zero(d_));
        const Vec g = hn::Sub(hn::LoadU(d_, slope + i), off);
        hn::StoreU(hn::IfThenElseZero(on, hn::Mul(g, factor)), d_, slope + i);
      });
    }
    std::fill(slope + visible, slope + length_, 0.0f);
    return mean;
  }

 private:
  template <class F>
  HWY_INLINE void each(int64_t visible, F f) const {
    for (int64_t i = 0; i < visible; i += kLanes) f(i);
  }
  HWY_INLINE Vec stretched(const float* kept) const {
    return hn::MulAdd(hn::LoadU(d_, kept), hn::Set(d_, stretch_), hn::Set(d_, low_));
  }
  HWY_INLINE Vec clamp(Vec x) const { return hn::Min(hn::Max(x, hn::Zero(d_)), hn::Set(d_, 1.0f)); }

  HWY_INLINE float keep_softmax(float* HWY_RESTRICT row, int64_t visible, float extra) const {
    const Vec scale = hn::Set(d_, scale_);
    const float hidden = -std::numeric_limits<float>::infinity();
    std::fill(row + visible, row + (visible + kLanes - 1) / kLanes * kLanes, hidden);
    Vec max = hn::Set(d_, hidden);
    each(visible, [&](int64_t i) { max = hn::Max(max, hn::LoadU(d_, row + i)); });
    // A positive scale does not change which one is the largest.
    const float top = std::max(hn::GetLane(hn::MaxOfLanes(d_, max)) * scale_, extra);
    const Vec shift = hn::Set(d_, top);
    Vec sum = hn::Zero(d_);
    each(visible, [&](int64_t i) {
      const Vec e = hn::Exp(d_, hn::MulSub(hn::LoadU(d_, row + i), scale, shift));
      hn::StoreU(e, d_, row + i);
      sum = hn::Add(sum, e);
    });
    const float own = extra > hidden ? std::exp(extra - top) : 0.0f;
    const float inverse = 1 / (hn::GetLane(hn::SumOfLanes(d_, sum)) + own);
    const Vec factor = hn::Set(d_, inverse);
    each(visible,
         [&](int64_t i) { hn::StoreU(hn::Mul(hn::LoadU(d_, row + i), factor), d_, row + i); });
    return own * inverse;
  }

  HWY_INLINE float softmax_slopes(const float* HWY_RESTRICT kept, int64_t visible, Vec off,
                                  float* HWY_RESTRICT slope) const {
    Vec sum = hn::Zero(d_);
    each(visible, [&](int64_t i) {
      Vec g = hn::Sub(hn::LoadU(d_, slope + i), off);
      if (clipped()) {
        const Vec x = stretched(kept + i);
        g = hn::IfThenElseZero(hn::Eq(x, clamp(x)), hn::Mul(g, hn::Set(d_, stretch_)));
      }
      hn::StoreU(g, d_, slope + i);
      sum = hn::MulAdd(hn::LoadU(d_, kept + i), g, sum);
    });
    const float mean = hn::GetLane(hn::SumOfLanes(d_, sum));
    const Vec centre = hn::Set(d_, mean), scale = hn::Set(d_, scale_);
    each(visible, [&](int64_t i) {
      const Vec p = hn::Mul(hn::LoadU(d_, kept + i), scale);
      hn::StoreU(hn::Mul(p, hn::Sub(hn::LoadU(d_, slope + i), centre)), d_, slope + i);
    });
    return mean;
  }

  const Tag d_;
  model::ScoreKind kind_;
  float scale_, low_, stretch_, bias_;
  int64_t length_;
};

}  // namespace sinkscope::train::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
