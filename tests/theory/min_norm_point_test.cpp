#include "sinkscope/theory/min_norm_point.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "sinkscope/base/error.h"
#include "sinkscope/theory/cholesky.h"
#include "tests/theory/random_points.h"

namespace sinkscope::theory {
namespace {

using test::Points;

MinNormPoint nearest(std::vector<double> entries, int64_t width) {
  return min_norm_point({entries, width});
}

/// What every result must satisfy, from the points alone.
void expect_certificate(const PointSet& points, const MinNormPoint& found) {
  ASSERT_NE(found.verdict, HullVerdict::kUndecided) << "gap " << found.gap;
  std::vector<double> w(static_cast<size_t>(points.width));
  for (size_t k = 0; k < found.support.size(); ++k) {
    EXPECT_GT(found.weights[k], 0);
    add_scaled(found.weights[k], points.point(found.support[k]), w);
  }
  EXPECT_NEAR(std::accumulate(found.weights.begin(), found.weights.end(), 0.0), 1, 1e-14);
  const double length = std::sqrt(dot(w, w));
  if (found.verdict == HullVerdict::kWithin) {
    EXPECT_LE(length, 1e-9 * found.scale);
    EXPECT_EQ(found.margin, 0);
    return;
  }
  EXPECT_NEAR(length, found.distance, 1e-12 * found.scale);
  for (int64_t i = 0; i < points.count(); ++i) {
    EXPECT_GE(dot(w, points.point(i)) / length, found.distance * (1 - 1e-6));
  }
}

// method.md section 7, "Test values".
TEST(MinNormPoint, TwoUnitVectors) {
  const MinNormPoint found = nearest({1, 0, 0, 1}, 2);
  EXPECT_EQ(found.verdict, HullVerdict::kApart);
  EXPECT_NEAR(found.margin, 0.7071068, 1e-7);
}

TEST(MinNormPoint, UnitVectorsOfEveryDirection) {
  for (const int64_t n : {1, 2, 7, 64, 200}) {
    Points points{std::vector<double>(static_cast<size_t>(n * n)), n};
    for (int64_t i = 0; i < n; ++i) points.entries[static_cast<size_t>(i * n + i)] = 1;
    const MinNormPoint found = min_norm_point(points);
    EXPECT_NEAR(found.margin, 1 / std::sqrt(static_cast<double>(n)), 1e-12) << n;
    EXPECT_EQ(std::ssize(found.support), n);
  }
}

TEST(MinNormPoint, ThreeUnitVectorsAtEqualAnglesSurroundZero) {
  const double half = std::sqrt(3) / 2;
  const MinNormPoint found = nearest({1, 0, -0.5, half, -0.5, -half}, 2);
  EXPECT_EQ(found.verdict, HullVerdict::kWithin);
  ASSERT_EQ(found.weights.size(), 3u);
  for (const double weight : found.weights) EXPECT_NEAR(weight, 1.0 / 3, 1e-12);
}

TEST(MinNormPoint, WeightsOfAnEdge) {
  const MinNormPoint found = nearest({1, 0.2, 1, -0.4, 0.5, 1}, 2);
  EXPECT_NEAR(found.margin, 0.8072074, 1e-7);
  ASSERT_EQ(found.support.size(), 2u);
  for (size_t k = 0; k < 2; ++k) {
    ASSERT_NE(found.support[k], 0);
    EXPECT_NEAR(found.weights[k], found.support[k] == 1 ? 0.520362 : 0.479638, 5e-7);
  }
}

// Cosine 0 with z_0 = (0, 1) for both: the published condition "non-positive" holds, H2 does not.
TEST(MinNormPoint, NearMissOppositePoints) {
  EXPECT_EQ(nearest({1, 0, -1, 0}, 2).verdict, HullVerdict::kWithin);
  const MinNormPoint strict = nearest({1, -1e-3, -1, -1e-3}, 2);
  EXPECT_EQ(strict.verdict, HullVerdict::kApart);
  EXPECT_NEAR(strict.margin, 1e-3, 1e-15);
}

TEST(MinNormPoint, TheToleranceIsRelativeToTheLongestPoint) {
  // The hull passes zero at 1e-8 and at 1e-10 of the longest point.
  EXPECT_EQ(nearest({1e6, 1e-2, -1e6, 1e-2}, 2).verdict, HullVerdict::kApart);
  EXPECT_EQ(nearest({1e6, 1e-4, -1e6, 1e-4}, 2).verdict, HullVerdict::kWithin);
}

TEST(MinNormPoint, OnePointAndRepeatedPoints) {
  const MinNormPoint one = nearest({3, 4}, 2);
  EXPECT_EQ(one.verdict, HullVerdict::kApart);
  EXPECT_EQ(one.margin, 5);
  EXPECT_EQ(one.gap, 0);
  std::vector<double> many;
  for (int i = 0; i < 50; ++i) many.insert(many.end(), {3, 4, 6, 8});
  EXPECT_NEAR(nearest(many, 2).margin, 5, 1e-14);
}

TEST(MinNormPoint, AZeroAmongThePointsIsWithin) {
  EXPECT_EQ(nearest({1, 2, 0, 0, 5, 5}, 2).verdict, HullVerdict::kWithin);
  EXPECT_EQ(nearest({0, 0, 0, 0}, 2).verdict, HullVerdict::kWithin);
  EXPECT_EQ(nearest({0}, 1).verdict, HullVerdict::kWithin);
}

TEST(MinNormPoint, PointsOnALine) {
  std::vector<double> points;
  for (int i = -20; i <= 30; ++i) points.insert(points.end(), {1.0, i / 10.0});
  const MinNormPoint found = nearest(points, 2);
  EXPECT_NEAR(found.margin, 1, 1e-14);
  EXPECT_EQ(nearest({2, 3, 5, 9}, 1).margin, 2);
  EXPECT_EQ(nearest({2, 3, -5, 9}, 1).verdict, HullVerdict::kWithin);
}

TEST(MinNormPoint, ClosePointsKeepTheirDigits) {
  // Neighbours 1e-7 apart: the difference of two squares of their Gram matrix holds no digit.
  std::mt19937_64 random(5);
  Points points = test::random_points(40, 10, random);
  for (double& entry : points.entries) entry = 1 + 1e-7 * entry;
  expect_certificate(points, min_norm_point(points));
}

TEST(MinNormPoint, CertificatesOfRandomPoints) {
  std::mt19937_64 random(1);
  for (const int64_t width : {1, 2, 3, 8, 33, 64}) {
    for (const int64_t count : {1, 2, 5, 17, 64, 300}) {
      for (const double shift : {0.0, 0.1, 1.0}) {
        const Points points = test::random_points(count, width, random, shift);
        expect_certificate(points, min_norm_point(points));
      }
    }
  }
}

TEST(MinNormPoint, ScaleAndOrderDoNotMatter) {
  std::mt19937_64 random(2);
  const Points points = test::random_points(60, 20, random, 0.4);
  const double margin = min_norm_point(points).margin;
  for (const double factor : {1e-40, 1e-6, 1e40}) {
    Points scaled = points;
    for (double& entry : scaled.entries) entry *= factor;
    EXPECT_NEAR(min_norm_point(scaled).margin / factor, margin, 1e-12 * margin);
  }
  Points reversed{{}, points.width};
  for (int64_t i = points.count() - 1; i >= 0; --i) {
    const auto point = static_cast<PointSet>(points).point(i);
    reversed.entries.insert(reversed.entries.end(), point.begin(), point.end());
  }
  EXPECT_NEAR(min_norm_point(reversed).margin, margin, 1e-12 * margin);
}

// Corollary 5: T sign-symmetric random tokens of R^d lie in a half-space with Wendel's probability.
TEST(MinNormPoint, WendelRates) {
  struct Case {
    int64_t width, count;
    double rate;
  };
  std::mt19937_64 random(3);
  for (const Case& c : {Case{4, 6, 0.8125}, {4, 8, 0.5}, {4, 12, 0.1132813}, {8, 16, 0.5}}) {
    constexpr int kDraws = 2000;
    int apart = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      const Points points = test::random_points(c.count, c.width, random);
      const MinNormPoint found = min_norm_point(points);
      ASSERT_NE(found.verdict, HullVerdict::kUndecided);
      apart += found.verdict == HullVerdict::kApart;
    }
    const double deviation = std::sqrt(c.rate * (1 - c.rate) / kDraws);
    EXPECT_NEAR(apart / static_cast<double>(kDraws), c.rate, 3.5 * deviation) << c.count;
  }
}

TEST(Certify, WeightsThatAreNotBestLeaveAGap) {
  const std::vector<double> entries{1, 0, 0, 1};
  const MinNormPoint found = certify({entries, 2}, {0, 1}, {0.6, 0.4});
  EXPECT_EQ(found.verdict, HullVerdict::kUndecided);
  EXPECT_GT(found.margin, 0);  // a half-space all the same
  EXPECT_LT(found.margin, std::numbers::sqrt2 / 2);
  EXPECT_GT(found.distance, std::numbers::sqrt2 / 2);
  EXPECT_EQ(certify({entries, 2}, {0, 1}, {2, 2}).verdict, HullVerdict::kApart);
}

TEST(MinNormPoint, RefusesWhatHasNoLength) {
  EXPECT_THROW(nearest({}, 2), Error);
  EXPECT_THROW(nearest({1, std::numeric_limits<double>::quiet_NaN()}, 2), Error);
  EXPECT_THROW(nearest({1, std::numeric_limits<double>::infinity()}, 2), Error);
  EXPECT_THROW(nearest({1, 1e200}, 2), Error);
}

TEST(Cholesky, RemovingEqualsNeverHavingAppended) {
  std::mt19937_64 random(4);
  const Points points = test::random_points(6, 9, random);
  const PointSet set = points;
  const auto factor_of = [&](std::span<const int64_t> rows) {
    Cholesky factor;
    for (size_t k = 0; k < rows.size(); ++k) {
      std::vector<double> coupling;
      for (size_t j = 0; j < k; ++j)
        coupling.push_back(dot(set.point(rows[k]), set.point(rows[j])));
      factor.solve_transposed(coupling);
      const double square = dot(set.point(rows[k]), set.point(rows[k]));
      factor.append(coupling, std::sqrt(square - dot(coupling, coupling)));
    }
    return factor;
  };
  for (size_t out = 0; out < 6; ++out) {
    std::vector<int64_t> rows{0, 1, 2, 3, 4, 5};
    Cholesky updated = factor_of(rows);
    updated.remove(out);
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(out));
    std::vector<double> got{1, -2, 3, 0.5, 7}, expected = got;
    updated.solve(got);
    factor_of(rows).solve(expected);
    for (size_t k = 0; k < got.size(); ++k) EXPECT_NEAR(got[k], expected[k], 1e-11) << out;
  }
}

}  // namespace
}  // namespace sinkscope::theory
