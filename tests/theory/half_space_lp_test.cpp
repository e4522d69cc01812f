// The conditions of method.md section 7 against linear programs, solved by Clp.

#include <gtest/gtest.h>

#include <ClpSimplex.hpp>
#include <cmath>

#include "sinkscope/theory/cholesky.h"
#include "sinkscope/theory/min_norm_point.h"
#include "tests/theory/random_points.h"

namespace sinkscope::theory {
namespace {

using test::Points;

/// max t with u.a_i >= t for every row a_i, |u_k| <= 1, t <= 1: positive where an open half-space
/// holds every point.
double largest_margin(const PointSet& rows) {
  ClpSimplex program;
  program.setLogLevel(0);
  const int width = static_cast<int>(rows.width);
  program.resize(0, width + 1);
  for (int k = 0; k < width; ++k) program.setColumnBounds(k, -1, 1);
  program.setColumnBounds(width, -COIN_DBL_MAX, 1);
  program.setObjectiveCoefficient(width, 1);
  program.setOptimizationDirection(-1);
  std::vector<int> columns(static_cast<size_t>(width) + 1);
  for (int k = 0; k <= width; ++k) columns[static_cast<size_t>(k)] = k;
  for (int64_t i = 0; i < rows.count(); ++i) {
    std::vector<double> row(rows.point(i).begin(), rows.point(i).end());
    row.push_back(-1);
    program.addRow(width + 1, columns.data(), row.data(), 0, COIN_DBL_MAX);
  }
  program.primal();
  EXPECT_EQ(program.status(), 0);
  return program.objectiveValue();
}

/// The features z_i d_j^T of all pairs 1 <= j <= i: u = vec W gives z_i^T W (z_0 - z_j).
Points pair_features(const Points& tokens, const Points& differences) {
  Points features{{}, tokens.width * tokens.width};
  const PointSet z = tokens, d = differences;
  for (int64_t i = 0; i < z.count(); ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      for (const double a : z.point(i)) {
        for (const double b : d.point(j)) features.entries.push_back(a * b);
      }
    }
  }
  return features;
}

constexpr double kPositive = 1e-7;  // Clp's feasibility tolerance

TEST(HalfSpaceLp, AgreesWithTheNearestPoint) {
  std::mt19937_64 random(11);
  int apart = 0;
  for (int draw = 0; draw < 400; ++draw) {
    const int64_t width = 2 + draw % 7, count = 1 + draw % 23;
    const Points points = test::random_points(count, width, random, draw % 3 * 0.2);
    const MinNormPoint found = min_norm_point(points);
    ASSERT_NE(found.verdict, HullVerdict::kUndecided);
    EXPECT_EQ(found.verdict == HullVerdict::kApart, largest_margin(points) > kPositive) << draw;
    apart += found.verdict == HullVerdict::kApart;
  }
  EXPECT_GT(apart, 100);  // both sides are met
  EXPECT_LT(apart, 300);
}

// Theorem A: some W has z_i^T W (z_0 - z_j) > 0 for all 1 <= j <= i iff H1 and H2.
TEST(HalfSpaceLp, TheoremA) {
  std::mt19937_64 random(12);
  int representable = 0;
  for (int draw = 0; draw < 300; ++draw) {
    const int64_t width = 2 + draw % 3, count = 2 + draw % 8;
    const Points all = test::random_points(count + 1, width, random, draw % 2 * 0.5);
    const Points tokens = test::without_first(all), lead = test::differences(all);
    const bool h1 = min_norm_point(lead).verdict == HullVerdict::kApart,
               h2 = min_norm_point(tokens).verdict == HullVerdict::kApart;
    EXPECT_EQ(h1 && h2, largest_margin(pair_features(tokens, lead)) > kPositive) << draw;
    representable += h1 && h2;
  }
  EXPECT_GT(representable, 50);
  EXPECT_LT(representable, 250);
}

// The proof's W = u v^T / (g_Z g_D) has margin 1 at every pair.
TEST(HalfSpaceLp, TheProofsMapHasTheMargin) {
  std::mt19937_64 random(13);
  const Points all = test::random_points(30, 20, random, 1);
  const Points tokens = test::without_first(all), lead = test::differences(all);
  const MinNormPoint z = min_norm_point(tokens), d = min_norm_point(lead);
  ASSERT_EQ(z.verdict, HullVerdict::kApart);
  ASSERT_EQ(d.verdict, HullVerdict::kApart);
  double least = 1e300;
  const double scale = z.distance * z.distance * d.distance * d.distance;
  for (int64_t i = 0; i < 29; ++i) {
    for (int64_t j = 0; j < 29; ++j) {
      least = std::min(least, dot(static_cast<PointSet>(tokens).point(i), z.point) *
                                  dot(static_cast<PointSet>(lead).point(j), d.point) / scale);
    }
  }
  EXPECT_NEAR(least, 1, 1e-9);
}

}  // namespace
}  // namespace sinkscope::theory
