#pragma once

#include <cstdint>
#include <vector>

namespace sinkscope::app {

/// `count` of the places 0..all-1: all when they fit, otherwise a seeded choice, ascending.
std::vector<int64_t> choose(int64_t all, int64_t count, uint64_t seed);

}  // namespace sinkscope::app
