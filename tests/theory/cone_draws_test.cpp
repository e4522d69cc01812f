#include "sinkscope/theory/cone_draws.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sinkscope/theory/cholesky.h"
#include "sinkscope/theory/cone.h"

namespace sinkscope::theory {
namespace {

TEST(ConeDraws, AreUnitVectorsAtTheAngleOfTheCone) {
  std::mt19937_64 random(1);
  for (const double alpha : {0.0, 0.4, 1.0}) {
    for (const int64_t width : {2, 7}) {
      const std::vector<double> vectors = draw_cone(alpha, 20, width, random);
      for (size_t at = 0; at < vectors.size(); at += static_cast<size_t>(width)) {
        const auto v = std::span(vectors).subspan(at, static_cast<size_t>(width));
        EXPECT_EQ(v[0], alpha);
        EXPECT_NEAR(dot(v, v), 1, 1e-14);
      }
    }
  }
}

// Rows: all on one value, uniform over two, and 0.6, 0.4 over the last two.
TEST(ConeDraws, MeasureWhatTheModelSays) {
  const std::vector<double> weights = {1, 0, 0, 0.5, 0.5, 0, 0, 0.6, 0.4};
  std::mt19937_64 random(5);
  const std::vector<ConePosition> measured = measure_cone(0.4, weights, 3, 64, 4000, random);
  ASSERT_EQ(measured.size(), 3u);
  EXPECT_NEAR(measured[0].square, 1, 1e-12);
  EXPECT_NEAR(measured[0].along, 0.4, 1e-12);
  for (const size_t t : {1, 2}) {
    const auto row = std::span(weights).subspan(3 * t, 3);
    const double keys = 1 / cone_square(0, row);
    // A standard error is 0.001 here; a model that forgot alpha would be 0.09 off.
    EXPECT_LT(measured[t].square_error, 2e-3);
    EXPECT_NEAR(measured[t].square, cone_square(0.4, row), 5 * measured[t].square_error);
    EXPECT_NEAR(measured[t].along, cone_direction(0.4, keys),
                5 * measured[t].along_error + 1.0 / 63);
  }
}

TEST(ConeDraws, StandardErrorIsTheSpreadOfTheMean) {
  const std::vector<double> weights = {0.5, 0.5, 0.5, 0.5};
  double sum = 0, squares = 0, error = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const ConePosition at = measure_cone(0.2, weights, 2, 8, 50, random)[0];
    sum += at.square / 200, squares += at.square * at.square / 200, error += at.square_error / 200;
  }
  EXPECT_NEAR(std::sqrt(squares - sum * sum) / error, 1, 0.2);  // sd of a spread of 200: 5 %
}

TEST(ConeDraws, IdentityHoldsForUnitVectorsAlone) {
  std::mt19937_64 random(2);
  std::vector<double> vectors = draw_cone(0.3, 100, 16, random);
  EXPECT_LT(mean_square_residual(vectors, 16), 1e-12);
  vectors[16] *= 1.01;  // one of them is no unit vector
  EXPECT_GT(mean_square_residual(vectors, 16), 1e-4);
}

}  // namespace
}  // namespace sinkscope::theory
