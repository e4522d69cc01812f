#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>

#include "sinkscope/stats/site.h"

namespace sinkscope::stats {

/// Largest finite number of IEEE binary16.
inline constexpr double kHalfMax = 65504;

/// The largest entry of one site; ties: first position, then lowest channel.
struct SiteRange {
  double largest = std::numeric_limits<double>::quiet_NaN();  ///< |x|; NaN: no such site
  int64_t channel = -1;
  int64_t beyond_half = 0;  ///< entries with |x| > kHalfMax
};

/// One scale for a whole tensor, absmax / 127, and what it costs the tokens that are no sinks.
struct Int8Values {
  double bits_lost = std::numeric_limits<double>::quiet_NaN();  ///< log2(absmax / absmax of rest)
  double bits_lost_normed = std::numeric_limits<double>::quiet_NaN();  ///< of z
  double error = std::numeric_limits<double>::quiet_NaN();  ///< ||Q(x) - x|| / ||x|| of the rest
  double error_without = std::numeric_limits<double>::quiet_NaN();  ///< scale from the rest alone
};

/// What fewer bits would lose of one block's states (method.md section 5).
struct RangeValues {
  std::array<SiteRange, kSites> sites;
  /// Mean over tokens of ||round(x_t) - x_t|| / ||x_t||, x after the block; tokens at zero left
  /// out.
  double bfloat16_error = std::numeric_limits<double>::quiet_NaN();
  double half_error = std::numeric_limits<double>::quiet_NaN();  ///< beyond kHalfMax: kHalfMax
  /// Of the residual before the block, and of z, what q, k and v read, with `sinks` (positions) as
  /// sink tokens. Asked once these are known.
  std::function<Int8Values(std::span<const int64_t> sinks)> int8;
};

}  // namespace sinkscope::stats
