#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "sinkscope/theory/min_norm_point.h"

namespace sinkscope::theory::test {

/// Points that own their entries.
struct Points {
  std::vector<double> entries;
  int64_t width = 0;
  operator PointSet() const { return {entries, width}; }
  int64_t count() const { return std::ssize(entries) / width; }
};

/// Standard normal entries plus `shift` in every coordinate.
inline Points random_points(int64_t count, int64_t width, std::mt19937_64& random,
                            double shift = 0) {
  Points points{std::vector<double>(static_cast<size_t>(count * width)), width};
  std::normal_distribution<double> normal;
  for (double& entry : points.entries) entry = normal(random) + shift;
  return points;
}

/// first - point for every point but the first: z_0 - z_j.
inline Points differences(const Points& points) {
  Points result{{}, points.width};
  const auto width = static_cast<size_t>(points.width);
  for (size_t i = width; i < points.entries.size(); ++i) {
    result.entries.push_back(points.entries[i % width] - points.entries[i]);
  }
  return result;
}

inline Points without_first(const Points& points) {
  return {{points.entries.begin() + points.width, points.entries.end()}, points.width};
}

}  // namespace sinkscope::theory::test
