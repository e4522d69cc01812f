// Compiled with -ffp-contract=off, and nothing here asks for a fused multiply-add: every
// instruction set rounds the same way.

#include "sinkscope/train/kernels/normal.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sinkscope/train/kernels/normal.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sinkscope::train::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// At most the half of a run: 16 lanes of AVX-512.
using Tag = hn::CappedTag<float, 16>;
using BitTag = hn::RebindToUnsigned<Tag>;
using IntTag = hn::RebindToSigned<Tag>;
using WordTag = hn::CappedTag<uint64_t, 8>;
using Vec = hn::Vec<Tag>;

/// Coefficients from the highest power down.
template <size_t kCount>
HWY_INLINE Vec polynomial(Vec x, const float (&coefficients)[kCount]) {
  const Tag d;
  Vec y = hn::Set(d, coefficients[0]);
  for (size_t i = 1; i < kCount; ++i) y = hn::Add(hn::Mul(y, x), hn::Set(d, coefficients[i]));
  return y;
}

/// mix() of a run's pairs.
HWY_INLINE void hash_run(uint64_t key, int64_t run, uint64_t* HWY_RESTRICT bits) {
  const WordTag d;
  const auto first = hn::Set(d, 0xBF58476D1CE4E5B9u), second = hn::Set(d, 0x94D049BB133111EBu);
  const auto start = static_cast<uint64_t>(run * kRunPairs) + key + 0x9E3779B97F4A7C15u;
  for (size_t i = 0; i < kRunPairs; i += hn::Lanes(d)) {
    auto x = hn::Add(hn::Set(d, start + i), hn::Iota(d, 0));
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<30>(x)), first);
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<27>(x)), second);
    hn::Store(hn::Xor(x, hn::ShiftRight<31>(x)), d, bits + i);
  }
}

/// sqrt(-2 log u) for u in [2^-24, 1]; the logarithm is Cephes' logf.
HWY_INLINE Vec radius(Vec u) {
  const Tag d;
  const IntTag di;
  // u = m 2^e with m in [sqrt(1/2), sqrt(2))
  const auto bits = hn::BitCast(di, u);
  const auto shifted = hn::Sub(bits, hn::Set(di, 0x3F3504F3));
  const auto exponent = hn::ShiftRight<23>(shifted);
  const Vec m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(exponent)));
  const Vec e = hn::ConvertTo(d, exponent), x = hn::Sub(m, hn::Set(d, 1.0f)), xx = hn::Mul(x, x);
  Vec log = hn::Mul(hn::Mul(polynomial(x, {7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f,
                                           -1.2420140846e-1f, 1.4249322787e-1f, -1.6668057665e-1f,
                                           2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f}),
                            x),
                    xx);
  log = hn::Add(log, hn::Mul(e, hn::Set(d, -2.12194440e-4f)));
  log = hn::Add(x, hn::Sub(log, hn::Mul(xx, hn::Set(d, 0.5f))));
  log = hn::Add(log, hn::Mul(e, hn::Set(d, 0.693359375f)));
  return hn::Sqrt(hn::Mul(log, hn::Set(d, -2.0f)));
}

/// Cosine and sine of 2 pi v for v in (0, 1], by quarters of a turn (Cephes' sinf and cosf).
HWY_INLINE void turn(Vec v, Vec& cosine, Vec& sine) {
  const Tag d;
  const BitTag du;
  const Vec quarters = hn::Mul(v, hn::Set(d, 4.0f)), whole = hn::Round(quarters);
  const Vec t = hn::Mul(hn::Sub(quarters, whole), hn::Set(d, 1.57079632679489662f));
  const Vec tt = hn::Mul(t, t);
  const Vec s = hn::Add(
      t,
      hn::Mul(hn::Mul(polynomial(tt, {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f}), tt),
              t));
  const Vec c =
      hn::Add(hn::Sub(hn::Set(d, 1.0f), hn::Mul(tt, hn::Set(d, 0.5f))),
              hn::Mul(hn::Mul(polynomial(tt, {2.443315711809948e-5f, -1.388731625493765e-3f,
                                              4.166664568298827e-2f}),
                              tt),
                      tt));
  const auto n = hn::BitCast(du, hn::ConvertTo(IntTag(), whole));
  const auto one = hn::Set(du, 1u), two = hn::Set(du, 2u);
  const auto odd = hn::RebindMask(d, hn::Eq(hn::And(n, one), one));
  // The second bit of n, and of n + 1, moved to the sign.
  const Vec sine_sign = hn::BitCast(d, hn::ShiftLeft<30>(hn::And(n, two)));
  const Vec cosine_sign = hn::BitCast(d, hn::ShiftLeft<30>(hn::And(hn::Add(n, one), two)));
  sine = hn::Xor(hn::IfThenElse(odd, c, s), sine_sign);
  cosine = hn::Xor(hn::IfThenElse(odd, s, c), cosine_sign);
}

void NormalRuns(uint64_t key, int64_t first, int64_t last, float* out) {
  const Tag d;
  const BitTag du;
  const IntTag di;
  const Vec unit = hn::Set(d, 0x1p-24f);
  const auto one = hn::Set(du, 1u);
  HWY_ALIGN uint64_t bits[kRunPairs];
  for (int64_t run = first; run < last; ++run, out += kRunLength) {
    hash_run(key, run, bits);
    for (size_t i = 0; i < kRunPairs; i += hn::Lanes(d)) {
      hn::Vec<BitTag> low, high;  // halves of the words, little end first
      hn::LoadInterleaved2(du, reinterpret_cast<const uint32_t*>(bits + i), low, high);
      high = hn::Add(hn::ShiftRight<8>(high), one);
      low = hn::Add(hn::And(low, hn::Set(du, 0xFFFFFFu)), one);
      const Vec r = radius(hn::Mul(hn::ConvertTo(d, hn::BitCast(di, high)), unit));
      Vec cosine, sine;
      turn(hn::Mul(hn::ConvertTo(d, hn::BitCast(di, low)), unit), cosine, sine);
      hn::StoreU(hn::Mul(r, cosine), d, out + i);
      hn::StoreU(hn::Mul(r, sine), d, out + kRunPairs + i);
    }
  }
}

}  // namespace sinkscope::train::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sinkscope::train::kernels {

HWY_EXPORT(NormalRuns);

void normal_runs(uint64_t key, int64_t first, int64_t last, float* out) {
  HWY_DYNAMIC_DISPATCH(NormalRuns)(key, first, last, out);
}

}  // namespace sinkscope::train::kernels
#endif
