#include "sinkscope/theory/cost_bounds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "sinkscope/theory/cholesky.h"
#include "tests/theory/random_tokens.h"

namespace sinkscope::theory {
namespace {

using test::Points;

std::vector<double> gram(const PointSet& points) {
  std::vector<double> products;
  for (int64_t i = 0; i < points.count(); ++i) {
    for (int64_t j = 0; j < points.count(); ++j)
      products.push_back(dot(points.point(i), points.point(j)));
  }
  return products;
}

double length(std::span<const double> x) { return std::sqrt(dot(x, x)); }

SinkGeometry sink_geometry(const Points& all, bool causal) {
  const Points tokens = test::without_first(all), lead = test::differences(all);
  return {min_norm_point(tokens).margin, min_norm_point(lead).margin,
          length(static_cast<PointSet>(tokens).point(tokens.count() - 1)),
          length(static_cast<PointSet>(lead).point(0)), causal};
}

double sink_all_pairs(const Points& all) { return sink_cost(sink_geometry(all, false)).upper; }

DiagonalCost diagonal(const Points& all, bool causal, int64_t rank) {
  return diagonal_cost(gram(all), all.count(), causal, rank);
}

/// `width` coordinates, all 0.
std::vector<double> zeros(int64_t width) { return std::vector<double>(static_cast<size_t>(width)); }

Points orthonormal(int64_t tokens) {  // T + 1 of them
  Points points{zeros(tokens * tokens), tokens};
  for (int64_t i = 0; i < tokens; ++i) points.entries[static_cast<size_t>(i * tokens + i)] = 1;
  return points;
}

// method.md section 8, "Test values", kappa = 1.
struct Orthonormal {
  int64_t tokens;  ///< T
  double frobenius, sink, diagonal_causal, diagonal_all;
};
constexpr Orthonormal kOrthonormal[] = {
    {2, 1.0801, 1.1547, 1.5236, 1.5774},    {4, 1.6482, 1.7889, 3.2841, 3.4472},
    {8, 2.4842, 2.6667, 7.0010, 7.3333},    {12, 3.1337, 3.3282, 10.8213, 11.2774},
    {16, 3.6825, 3.8806, 14.6894, 15.2425}, {24, 4.6026, 4.8000, 22.4989, 23.2000},
};

TEST(SinkCost, OrthonormalTokens) {
  for (const Orthonormal& row : kOrthonormal) {
    const Points all = orthonormal(row.tokens + 1);
    EXPECT_NEAR(sink_all_pairs(all), row.sink, 5e-5);
    const Bracket causal = sink_cost(sink_geometry(all, true));
    EXPECT_NEAR(causal.upper, row.sink, 5e-5);
    EXPECT_LE(causal.lower, row.sink);
    EXPECT_GE(causal.lower, std::sqrt(static_cast<double>(row.tokens) / 2) - 1e-9);
  }
}

TEST(SinkCost, RandomTokensOfTheoremB) {
  for (const test::TokenSet& set : test::random_tokens()) {
    EXPECT_NEAR(sink_all_pairs(set.tokens), set.sink_cost, 5e-5);
  }
}

TEST(SinkCost, CentredSimplex) {
  for (const int64_t T : {2, 5, 24}) {
    const double t = static_cast<double>(T);
    Points all = orthonormal(T + 1);  // less the mean, scaled to unit length
    for (double& entry : all.entries) entry = (entry - 1 / (t + 1)) * std::sqrt((t + 1) / t);
    EXPECT_NEAR(sink_all_pairs(all), t * t / (t + 1), 1e-9);
    // A tie: the diagonal costs the same, by a multiple of the identity of rank T.
    const DiagonalCost cost = diagonal(all, false, T);
    EXPECT_NEAR(cost.nuclear.upper, t * t / (t + 1), 1e-9);
    EXPECT_LE(cost.nuclear.lower, cost.nuclear.upper);
    EXPECT_GE(cost.nuclear.lower, 0.66 * cost.nuclear.upper);
  }
}

Points cone(int64_t T, double c, double a) {
  Points all{zeros((T + 1) * (T + 2)), T + 2};
  for (int64_t i = 0; i <= T; ++i) {
    const double along = i == 0 ? a : c;
    all.entries[static_cast<size_t>(i * all.width + T + 1)] = along;
    all.entries[static_cast<size_t>(i * all.width + i)] = std::sqrt(1 - along * along);
  }
  return all;
}

TEST(SinkCost, ConeStaysBoundedAndTheDiagonalDoesNot) {
  struct Row {
    int64_t tokens;
    double sink, causal, all;
  };
  for (const Row& row : {Row{4, 1.1470, 3.5824, 4.2867},
                         {8, 1.3303, 7.9347, 9.4996},
                         {16, 1.4524, 17.0857, 20.0908},
                         {24, 1.4995, 26.5315, 30.7291}}) {
    const Points tokens = cone(row.tokens, 0.5, -0.3);
    EXPECT_NEAR(sink_all_pairs(tokens), row.sink, 5e-5);
    const Bracket causal = diagonal(tokens, true, row.tokens).nuclear,
                  all = diagonal(tokens, false, row.tokens).nuclear;
    EXPECT_LE(causal.lower, row.causal);
    EXPECT_GE(causal.upper, row.causal);
    EXPECT_GE(causal.lower, 0.45 * row.causal);  // grows with T too
    EXPECT_LE(all.lower, row.all);
    EXPECT_GE(all.upper, row.all);
    EXPECT_GE(all.lower, causal.lower);  // more constraints
  }
}

TEST(SinkCost, InfiniteWhereNoMapMakesASink) {
  EXPECT_TRUE(std::isinf(sink_cost({0, 1, 1, 1, true}).lower));
  EXPECT_TRUE(std::isinf(sink_cost({1, 0, 1, 1, false}).upper));
}

TEST(SinkCost, OnePairIsExact) {
  const Points two{{3, 0, 0, 4}, 2};
  for (const bool causal : {false, true}) {
    EXPECT_NEAR(sink_cost(sink_geometry(two, causal)).lower, 1.0 / 20, 1e-15);  // |z_1| |z_0 - z_1|
    EXPECT_NEAR(sink_cost(sink_geometry(two, causal)).upper, 1.0 / 20, 1e-15);
    EXPECT_NEAR(diagonal(two, causal, 1).nuclear.lower, 1.0 / 20, 1e-12);
    EXPECT_NEAR(diagonal(two, causal, 1).frobenius.lower, 1.0 / 20, 1e-12);
    EXPECT_NEAR(diagonal(two, causal, 1).nuclear.upper, 1.0 / 16, 1e-12);
  }
}

TEST(DiagonalCost, OrthonormalTokens) {
  for (const Orthonormal& row : kOrthonormal) {
    const double t = static_cast<double>(row.tokens);
    double harmonic = 0;
    for (int64_t i = 1; i <= row.tokens + 1; ++i) harmonic += 1 / static_cast<double>(i);
    const Points all = orthonormal(row.tokens + 1);
    const DiagonalCost causal = diagonal(all, true, row.tokens),
                       every = diagonal(all, false, row.tokens);
    EXPECT_NEAR(causal.frobenius.lower, row.frobenius, 5e-5);  // exact: rows separate
    EXPECT_GE(causal.nuclear.lower, t + 1 - harmonic - 1e-6);
    EXPECT_LE(causal.nuclear.lower, row.diagonal_causal);
    EXPECT_GE(causal.nuclear.upper, row.diagonal_causal);
    EXPECT_GE(every.nuclear.lower, t - 1 - 1e-6);
    EXPECT_LE(every.nuclear.lower, row.diagonal_all);
    EXPECT_NEAR(every.nuclear.upper, t, 1e-9);
    EXPECT_GE(every.nuclear.upper, row.diagonal_all);
    EXPECT_LE(every.frobenius.lower, t / std::sqrt(t + 1) + 1e-9);
  }
}

/// 2 d tokens +-cos e_k + sin mu, the sink orthogonal to all.
Points cross_polytope(int64_t d, double sine) {
  const double cosine = std::sqrt(1 - sine * sine);
  Points all{zeros((2 * d + 1) * (d + 2)), d + 2};
  all.entries[static_cast<size_t>(d + 1)] = 1;
  for (int64_t i = 0; i < 2 * d; ++i) {
    double* token = all.entries.data() + (i + 1) * all.width;
    token[i / 2] = i % 2 == 0 ? cosine : -cosine;
    token[d] = sine;
  }
  return all;
}

TEST(DiagonalCost, CheaperOnlyForManyNearlyIsotropicTokens) {
  struct Row {
    double sine, sink, diagonal;
  };
  for (const Row& row : {Row{0.1, 9.9504, 4.0404}, {0.2, 4.9029, 4.1667}, {0.3, 3.1928, 4.3956}}) {
    const Points all = cross_polytope(4, row.sine);
    EXPECT_NEAR(sink_all_pairs(all), row.sink, 5e-5);
    const Bracket cost = diagonal(all, false, 5).nuclear;
    EXPECT_LE(cost.lower, row.diagonal);
    EXPECT_GE(cost.upper, row.diagonal);
    EXPECT_EQ(cost.upper < row.sink, row.sine == 0.1);  // decided, near miss: not decided
    EXPECT_EQ(cost.lower > row.sink, row.sine == 0.3);
  }
  // Without the lift 0 is the mean of every pair: no map makes a sink.
  EXPECT_TRUE(std::isinf(sink_all_pairs(cross_polytope(4, 0))));
}

/// sum P / |M| in both norms from M itself, its largest singular value by long power iteration.
struct Lower {
  double nuclear, frobenius;
};
template <class Weight>
Lower lower_bound(const PointSet& z, int64_t first_query, Weight weight) {
  const auto width = static_cast<size_t>(z.width);
  std::vector<double> m(width * width);
  double total = 0;
  for (int64_t i = first_query; i < z.count(); ++i) {
    for (int64_t j = 0; j < z.count(); ++j) {
      const double p = weight(i, j);
      total += p;
      for (size_t r = 0; r < width && p > 0; ++r) {
        for (size_t c = 0; c < width; ++c)
          m[r * width + c] += p * z.point(i)[r] * (z.point(i)[c] - z.point(j)[c]);
      }
    }
  }
  std::vector<double> x(width, 1.0);
  double norm = 0;
  for (int step = 0; step < 3000; ++step) {
    std::vector<double> next(width);
    for (size_t r = 0; r < width; ++r) {
      const auto row = std::span(m).subspan(r * width, width);
      add_scaled(dot(row, x), row, next);
    }
    norm = std::sqrt(length(next) / length(x));
    for (size_t r = 0; r < width; ++r) x[r] = next[r] / length(next);
  }
  return {total / norm, total / length(m)};
}

TEST(DiagonalCost, LowerBoundsAreTheBestOfTheirWeights) {
  std::mt19937_64 random(21);
  const auto running = [](int64_t i, int64_t j) {
    return j < i ? 1 / static_cast<double>(i + 1) : 0.0;
  };
  const auto neighbours = [](int64_t i, int64_t j) { return j < i && j >= i - 8 ? 0.125 : 0.0; };
  const auto all_pairs = [](int64_t i, int64_t j) { return i != j && j > 0 ? 1.0 : 0.0; };
  int running_wins = 0;
  for (const int64_t count : {3, 7, 9, 40}) {
    for (const double shift : {0.0, 0.7}) {
      const Points all = test::random_points(count, 12, random, shift);
      const Lower a = lower_bound(all, 1, running), b = lower_bound(all, 1, neighbours),
                  c = lower_bound(all, 1, all_pairs);
      const double nuclear = std::max(a.nuclear, b.nuclear),
                   frobenius = std::max(a.frobenius, b.frobenius);
      running_wins += a.nuclear > b.nuclear;
      const DiagonalCost causal = diagonal(all, true, 12), every = diagonal(all, false, 12);
      EXPECT_NEAR(causal.nuclear.lower / nuclear, 1, 1e-6);
      EXPECT_NEAR(causal.frobenius.lower / frobenius, 1, 1e-10);
      EXPECT_NEAR(every.nuclear.lower / std::max(nuclear, c.nuclear), 1, 1e-6);
      EXPECT_NEAR(every.frobenius.lower / std::max(frobenius, c.frobenius), 1, 1e-10);
    }
  }
  EXPECT_GT(running_wins, 0);
  EXPECT_LT(running_wins, 8);
}

TEST(DiagonalCost, MoreTokensNeverCostLess) {
  std::mt19937_64 random(22);
  const Points all = test::random_points(60, 40, random, 0.5);
  const Points some{{all.entries.begin(), all.entries.begin() + 20 * 40}, 40};
  EXPECT_LE(diagonal(some, true, 40).nuclear.lower, diagonal(all, true, 40).nuclear.upper);
  EXPECT_LE(diagonal(some, true, 40).nuclear.upper, diagonal(all, true, 40).nuclear.upper);
}

TEST(DiagonalCost, EqualTokensOneTokenAndRepeatedTokens) {
  Points alike{{}, 3};
  for (int i = 0; i < 10; ++i) alike.entries.insert(alike.entries.end(), {0.1, 0.7, -0.3});
  EXPECT_TRUE(std::isinf(diagonal(alike, true, 1).nuclear.lower));
  for (size_t i = 0; i < alike.entries.size(); i += 7) alike.entries[i] *= 1 + 1e-7;  // float32
  EXPECT_TRUE(std::isinf(diagonal(alike, true, 1).nuclear.lower));
  EXPECT_TRUE(std::isinf(diagonal(alike, false, 1).frobenius.lower));
  EXPECT_TRUE(std::isnan(diagonal(alike, true, 1).nuclear.upper));
  EXPECT_TRUE(std::isnan(diagonal({{1, 2}, 2}, true, 1).nuclear.lower));
  const DiagonalCost repeated = diagonal({{1, 0, 0, 1, 0, 1}, 2}, true, 2);
  EXPECT_TRUE(std::isnan(repeated.nuclear.upper));  // z_2 cannot prefer itself to z_1
  EXPECT_GT(repeated.nuclear.lower, 0);
}

}  // namespace
}  // namespace sinkscope::theory
