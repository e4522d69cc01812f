#include "sinkscope/app/choose.h"

#include <algorithm>
#include <random>

namespace sinkscope::app {

std::vector<int64_t> choose(int64_t all, int64_t count, uint64_t seed) {
  std::vector<int64_t> places(static_cast<size_t>(all));
  for (int64_t i = 0; i < all; ++i) places[static_cast<size_t>(i)] = i;
  if (all <= count) return places;
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < count; ++i) {  // the first `count` steps of a shuffle
    const auto j = i + static_cast<int64_t>(random() % static_cast<uint64_t>(all - i));
    std::swap(places[static_cast<size_t>(i)], places[static_cast<size_t>(j)]);
  }
  places.resize(static_cast<size_t>(count));
  std::sort(places.begin(), places.end());
  return places;
}

}  // namespace sinkscope::app
