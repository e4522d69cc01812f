#include "sinkscope/theory/cone.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace sinkscope::theory {
namespace {

std::vector<double> uniform(size_t keys) {
  return std::vector<double>(keys, 1 / static_cast<double>(keys));
}

// method.md section 12, test values.
TEST(Cone, OutputAndDirectionByPosition) {
  const size_t keys[] = {1, 2, 5, 50};
  const double square[] = {1, 0.58, 0.328, 0.1768}, direction[] = {0.4, 0.5252, 0.6984, 0.9513};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(cone_square(0.4, uniform(keys[i])), square[i], 1e-12) << keys[i];
    EXPECT_NEAR(cone_direction(0.4, static_cast<double>(keys[i])), direction[i], 5e-5) << keys[i];
  }
}

TEST(Cone, OneWeightOfOneIsTheStrictMaximum) {
  EXPECT_EQ(cone_square(0.4, std::vector<double>{0, 1, 0}), 1);
  EXPECT_LT(cone_square(0.4, std::vector<double>{0.01, 0.99}), 1);
  EXPECT_EQ(cone_square(1, std::vector<double>{0.5, 0.5}),
            1);  // all values the same: no difference
}

std::vector<std::vector<double>> unit_vectors(size_t count, size_t width, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<std::vector<double>> vectors(count, std::vector<double>(width));
  for (auto& v : vectors) {
    double norm = 0;
    for (double& x : v) x = normal(random) + 0.3, norm += x * x;
    for (double& x : v) x /= std::sqrt(norm);
  }
  return vectors;
}

TEST(Cone, MeanOfUnitVectorsIsExactWithoutAModel) {
  for (const size_t count : {2, 3, 17, 200}) {
    const auto vectors = unit_vectors(count, 16, count);
    const double n = static_cast<double>(count);
    double square = 0, cosines = 0;
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = 0; j < count; ++j) {
        double dot = 0;
        for (size_t c = 0; c < 16; ++c) dot += vectors[i][c] * vectors[j][c];
        square += dot / (n * n);
        if (i < j) cosines += dot;
      }
    }
    EXPECT_NEAR(mean_square(cosines / (n * (n - 1) / 2), n), square, 1e-12) << count;
  }
  EXPECT_EQ(mean_square(0.3, 1), 1);
}

TEST(FitLine, IsExactOnALineAndBlindWithoutSpread) {
  const std::vector<double> x = {1, 0.5, 1.0 / 3, 0.25}, on = {1, 0.65, 0.3 + 0.7 / 3, 0.475};
  const Line line = fit_line(x, on);
  EXPECT_NEAR(line.intercept, 0.3, 1e-14);
  EXPECT_NEAR(line.slope, 0.7, 1e-14);
  EXPECT_NEAR(line.r2, 1, 1e-14);
  EXPECT_NEAR(fit_line(x, std::vector<double>{1, 0, 1, 0}).r2, 49.0 / 195, 1e-12);
  EXPECT_TRUE(std::isnan(fit_line(std::vector<double>{2, 2}, std::vector<double>{1, 3}).slope));
  EXPECT_TRUE(std::isnan(fit_line(std::vector<double>{2}, std::vector<double>{1}).slope));
  const Line flat = fit_line(std::vector<double>{1, 2}, std::vector<double>{3, 3});
  EXPECT_EQ(flat.slope, 0);
  EXPECT_TRUE(std::isnan(flat.r2));
}

// method.md section 12: x = (100, 0, ..), 0.5 per channel.
TEST(Turn, OfALongVectorIsFirstOrder) {
  const Turn turn = turn_of(100.0 * 100, 50, 4 * 0.25);
  EXPECT_NEAR(turn.size, 9e-3, 5e-4);
  EXPECT_NEAR(turn.error, 6e-5, 5e-6);
  const Turn shorter = turn_of(1, 0.5, 1);  // the same d beside a vector of length 1
  EXPECT_GT(shorter.error, 0.3 * shorter.size);
}

TEST(Turn, EqualsTheVectors) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  for (const double scale : {1e-6, 0.1, 3.0, 100.0}) {
    double x[5], d[5], xx = 0, xd = 0, dd = 0, yy = 0;
    for (int c = 0; c < 5; ++c) {
      x[c] = normal(random), d[c] = scale * normal(random);
      xx += x[c] * x[c], xd += x[c] * d[c], dd += d[c] * d[c];
      yy += (x[c] + d[c]) * (x[c] + d[c]);
    }
    double size = 0, first = 0, error = 0;
    for (int c = 0; c < 5; ++c) {
      const double step = (x[c] + d[c]) / std::sqrt(yy) - x[c] / std::sqrt(xx);
      const double perp = (d[c] - xd / xx * x[c]) / std::sqrt(xx);
      size += step * step, first += perp * perp, error += (step - perp) * (step - perp);
    }
    const Turn turn = turn_of(xx, xd, dd);
    EXPECT_NEAR(turn.size, std::sqrt(size), 1e-13) << scale;
    EXPECT_NEAR(turn.first, std::sqrt(first), 1e-13 * (1 + scale)) << scale;
    EXPECT_NEAR(turn.error, std::sqrt(error), 1e-13 * (1 + scale)) << scale;
  }
}

TEST(Turn, BackwardsAndNowhere) {
  EXPECT_DOUBLE_EQ(turn_of(1, -2, 4).size, 2);  // y = -x
  EXPECT_EQ(turn_of(1, 0, 0).size, 0);
  EXPECT_TRUE(std::isnan(turn_of(0, 0, 1).size));
  EXPECT_TRUE(std::isnan(turn_of(1, -1, 1).size));  // d = -x
}

}  // namespace
}  // namespace sinkscope::theory
