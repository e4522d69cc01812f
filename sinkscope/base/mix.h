#pragma once

#include <cstdint>
#include <initializer_list>

namespace sinkscope {

/// One number of a seed and some parts, in which every bit depends on every bit: the same on every
/// machine, so that what is chosen by it depends on nothing but the parts. The finaliser is
/// splitmix64's (Steele, Lea, Flood, OOPSLA 2014).
inline uint64_t mix(uint64_t seed, std::initializer_list<uint64_t> parts) {
  uint64_t x = seed;
  for (const uint64_t part : parts) {
    x += part + 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    x ^= x >> 31;
  }
  return x;
}

}  // namespace sinkscope
