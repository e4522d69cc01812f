#include "sinkscope/theory/cost_closed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sinkscope/theory/log_log.h"

namespace sinkscope::theory {
namespace {

double exact(const ClosedQuestion& question, const CloudRequest& request) {
  const Bracket cost = closed_cost(question, request);
  EXPECT_EQ(cost.lower, cost.upper);
  return cost.upper;
}

constexpr ClosedQuestion kSink{"orthonormal", false, true, true};
constexpr ClosedQuestion kDiagonalAll{"orthonormal", true, true, false};
constexpr ClosedQuestion kDiagonal{"orthonormal", true, true, true};

TEST(CostClosed, OrthonormalTable) {
  EXPECT_NEAR(exact(kSink, {.tokens = 24}), 4.8, 1e-12);
  EXPECT_NEAR(exact(kDiagonalAll, {.tokens = 24}), 23.2, 1e-12);
  EXPECT_NEAR(exact({"orthonormal", false, false, true}, {.tokens = 24}), 4.6026, 5e-5);
  EXPECT_NEAR(exact({"orthonormal", true, false, true}, {.tokens = 24}), 4.6026, 5e-5);
  EXPECT_NEAR(exact({"orthonormal", false, false, false}, {.tokens = 24}), 4.8, 1e-12);
  const Bracket causal = closed_cost(kDiagonal, {.tokens = 24});
  EXPECT_NEAR(causal.lower, 25 - harmonic(25), 1e-12);
  EXPECT_NEAR(causal.upper, 23.2, 1e-12);
  EXPECT_LT(causal.lower, 22.4989);
}

TEST(CostClosed, OtherGeometries) {
  EXPECT_NEAR(exact({"simplex", false, true, true}, {.tokens = 8}), 64.0 / 9, 1e-12);
  EXPECT_NEAR(exact({"simplex", true, true, false}, {.tokens = 8}), 64.0 / 9, 1e-12);
  EXPECT_TRUE(std::isnan(closed_cost({"simplex", true, false, true}, {.tokens = 8}).upper));
  const CloudRequest cone{.tokens = 16, .cosine = 0.5, .sink_cosine = -0.3};
  EXPECT_NEAR(exact({"cone", false, true, false}, cone), 1.4524, 5e-5);
  EXPECT_TRUE(std::isnan(closed_cost({"cone", false, true, true}, cone).lower));
  const CloudRequest lifted{.tokens = 8, .sine = 0.2};
  EXPECT_NEAR(exact({"cross-polytope", false, true, false}, lifted), 4.9029, 5e-5);
  EXPECT_NEAR(exact({"cross-polytope", true, true, false}, lifted), 4.1667, 5e-5);
  // Beyond the region where the formula is known to be tight only the upper bound is given.
  const Bracket high =
      closed_cost({"cross-polytope", true, true, false}, {.tokens = 8, .sine = 0.3});
  EXPECT_NEAR(high.upper, 4.3956, 5e-5);
  EXPECT_TRUE(std::isnan(high.lower));
  EXPECT_TRUE(std::isnan(closed_cost({"isotropic", false, true, true}, {.tokens = 8}).upper));
}

TEST(CostClosed, ALiftOfNothingHasNoSink) {
  EXPECT_TRUE(std::isinf(closed_cost({"cross-polytope"}, {.tokens = 8, .sine = 0}).upper));
}

TEST(CostClosed, ALowRankDiagonalCostsMore) { EXPECT_NEAR(rank_one_diagonal(24), 176.64, 0.01); }

/// Exponent over T = 64, 128, .. 1024 of the cost times sqrt(T + 1)^power.
PowerLaw growth(const ClosedQuestion& question, double power, bool upper) {
  std::vector<double> x, y;
  for (int64_t t = 64; t <= 1024; t *= 2) {
    const Bracket cost = closed_cost(question, {.tokens = t});
    x.push_back(static_cast<double>(t));
    y.push_back((upper ? cost.upper : cost.lower) *
                std::pow(std::sqrt(static_cast<double>(t + 1)), power));
  }
  return fit_power_law(x, y);
}

TEST(CostClosed, GrowsAsPublished) {
  EXPECT_NEAR(growth(kSink, 0, true).exponent, 0.5026, 5e-4);
  EXPECT_NEAR(growth(kDiagonalAll, 0, true).exponent, 1.0046, 5e-4);
  EXPECT_NEAR(growth(kSink, 1, true).exponent, 1.0, 1e-12);
  EXPECT_NEAR(growth(kDiagonalAll, 1, true).exponent, 1.502, 5e-4);
  EXPECT_NEAR(growth({"orthonormal", false, false, true}, 0, true).exponent, 0.5098, 5e-4);
  // Both ends of the causal diagonal, so that the truth between them grows so too.
  EXPECT_NEAR(growth(kDiagonal, 0, true).exponent, 1, 0.02);
  EXPECT_NEAR(growth(kDiagonal, 0, false).exponent, 1, 0.02);
}

TEST(CostClosed, RatioOfDiagonalToSink) {
  EXPECT_NEAR(exact(kDiagonalAll, {.tokens = 64}) / exact(kSink, {.tokens = 64}), 7.952, 5e-4);
  EXPECT_NEAR(exact(kDiagonalAll, {.tokens = 1024}) / exact(kSink, {.tokens = 1024}), 31.985, 5e-4);
}

TEST(PowerLaw, KnownLineAndItsInterval) {
  const std::vector<double> x = {1, 2, 4, 8}, y = {3, 12, 48, 192};
  const PowerLaw exact_law = fit_power_law(x, y);
  EXPECT_NEAR(exact_law.exponent, 2, 1e-12);
  EXPECT_NEAR(exact_law.factor, 3, 1e-12);
  EXPECT_NEAR(exact_law.error, 0, 1e-9);
  // Residuals +-e at log x = 0, 1, 2, 3 with signs + - - +: slope kept; se = sqrt(4 e^2 / 2 / 5).
  std::vector<double> steps, values;
  for (int i = 0; i < 4; ++i) {
    steps.push_back(std::exp(i));
    values.push_back(std::exp(2.0 * i + (i == 0 || i == 3 ? 0.1 : -0.1)));
  }
  const PowerLaw law = fit_power_law(steps, values);
  EXPECT_NEAR(law.exponent, 2, 1e-12);
  EXPECT_NEAR(law.error, 4.302652730 * std::sqrt(0.04 / 2 / 5), 1e-9);
  EXPECT_TRUE(
      std::isnan(fit_power_law(std::vector<double>{1, 2}, std::vector<double>{1, 0}).exponent));
  EXPECT_TRUE(
      std::isnan(fit_power_law(std::vector<double>{1, 2}, std::vector<double>{1, 2}).error));
}

TEST(PowerLaw, StudentPointsOfTables) {
  // A line with three residual degrees and more: half width / standard error is the tabled point.
  for (const auto& [points, tabled] :
       {std::pair{5, 3.1824}, {7, 2.5706}, {12, 2.2281}, {32, 2.0423}}) {
    std::vector<double> x, y;
    for (int i = 0; i < points; ++i) {
      x.push_back(std::exp(i)), y.push_back(std::exp(i % 2 == 0 ? 0.1 : -0.1));
    }
    const PowerLaw law = fit_power_law(x, y);
    double mean = 0, spread = 0, residual = 0;
    for (int i = 0; i < points; ++i) mean += static_cast<double>(i) / points;
    for (int i = 0; i < points; ++i) {
      const double off =
          std::log(y[static_cast<size_t>(i)]) - std::log(law.factor) - law.exponent * i;
      residual += off * off, spread += (i - mean) * (i - mean);
    }
    const double error = std::sqrt(residual / (points - 2) / spread);
    EXPECT_NEAR(law.error / error, tabled, 0.005 * tabled) << points;
  }
}

}  // namespace
}  // namespace sinkscope::theory
