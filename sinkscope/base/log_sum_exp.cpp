#include "sinkscope/base/log_sum_exp.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sinkscope/base/log_sum_exp.cpp"
#include <hwy/foreach_target.h>
// clang-format off
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sinkscope::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

double LogSumExp(const float* x, int64_t count) {
  constexpr int64_t kPart = 4096;  // entries whose float sum is then added in double
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto largest = hn::Set(d, -std::numeric_limits<float>::infinity());
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) largest = hn::Max(largest, hn::LoadU(d, x + i));
  float top = hn::GetLane(hn::MaxOfLanes(d, largest));
  for (; i < count; ++i) top = std::max(top, x[i]);
  if (!std::isfinite(top)) return top;
  const auto shift = hn::Set(d, top);
  double total = 0;
  for (int64_t part = 0; part < count; part += kPart) {
    const int64_t end = std::min(count, part + kPart);
    auto sum = hn::Zero(d);
    for (i = part; i + lanes <= end; i += lanes)
      sum = hn::Add(sum, hn::Exp(d, hn::Sub(hn::LoadU(d, x + i), shift)));
    total += hn::GetLane(hn::SumOfLanes(d, sum));
    for (; i < end; ++i) total += std::exp(x[i] - top);
  }
  return top + std::log(total);
}

}  // namespace sinkscope::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sinkscope {

HWY_EXPORT(LogSumExp);

double log_sum_exp(const float* x, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(LogSumExp)(x, count);
}

}  // namespace sinkscope
#endif
