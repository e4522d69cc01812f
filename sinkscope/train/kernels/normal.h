#pragma once

#include <cstdint>

namespace sinkscope::train::kernels {

/// A run: this many pairs of uniform numbers, hence as many cosines and after them as many sines.
constexpr int64_t kRunPairs = 32, kRunLength = 2 * kRunPairs;

/// Standard normal numbers of the runs [first, last) of `key`, kRunLength each, to out[0] onwards:
///   pair p:  h = mix(key, {p});  u = ((h >> 40) + 1) / 2^24;  v = ((h & 0xFFFFFF) + 1) / 2^24
///   sqrt(-2 log u) times cos(2 pi v) and sin(2 pi v)
/// The same bits on every machine and instruction set.
void normal_runs(uint64_t key, int64_t first, int64_t last, float* out);

}  // namespace sinkscope::train::kernels
