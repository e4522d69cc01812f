#pragma once

#include <cstdint>

namespace sinkscope::stats {

/// a . b of float vectors. Eight sums, so that none waits for itself.
inline double dot(const float* a, const float* b, int64_t width) {
  constexpr int64_t kLanes = 8;
  float sum[kLanes] = {};
  int64_t c = 0;
  for (; c + kLanes <= width; c += kLanes) {
    for (int64_t i = 0; i < kLanes; ++i) sum[i] += a[c + i] * b[c + i];
  }
  for (; c < width; ++c) sum[0] += a[c] * b[c];
  double total = 0;
  for (const float s : sum) total += s;
  return total;
}

}  // namespace sinkscope::stats
