#include "sinkscope/app/theory/cone_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sinkscope/theory/cone.h"
#include "sinkscope/theory/cone_draws.h"

namespace sinkscope::app {

std::vector<store::SheetRow> cone_test_values() {
  // method.md section 12, test values.
  constexpr double kAlpha = 0.4;
  constexpr double kKeys[] = {1, 2, 5, 50};
  constexpr double kSquares[] = {1, 0.58, 0.328, 0.1768};
  constexpr double kDirections[] = {0.4, 0.5252, 0.6984, 0.9513};
  double worst = 0;
  for (size_t i = 0; i < std::size(kKeys); ++i) {
    const std::vector<double> uniform(static_cast<size_t>(kKeys[i]), 1 / kKeys[i]);
    worst = std::max({worst, std::abs(theory::cone_square(kAlpha, uniform) - kSquares[i]),
                      std::abs(theory::cone_direction(kAlpha, kKeys[i]) - kDirections[i])});
  }
  const std::vector<double> half = {0.5, 0.5};
  const double equal = theory::cone_square(1, half);
  return {check_row("alpha = 0.4, uniform over 1, 2, 5, 50 values: squares 1, 0.58, 0.328, 0.1768, "
                    "directions 0.4, 0.5252, 0.6984, 0.9513",
                    "within 5e-5", fmt::format("{:.1e} off at worst", worst), worst <= 5e-5),
          check_row("equal values (alpha = 1): no position is longer", "1",
                    fmt::format("{}", equal), equal == 1)};
}

double cone_identity_residual(int64_t count, int64_t width, std::mt19937_64& random) {
  count = std::min<int64_t>(count, 512);
  const std::vector<double> cone = theory::draw_cone(0.4, count, width, random);
  // Lengths that the cone's are not: uniform entries about 0.3, then normed.
  std::uniform_real_distribution<double> uniform(-0.7, 1.3);
  std::vector<double> other(cone.size()), equal;
  const auto w = static_cast<size_t>(width);
  for (size_t at = 0; at < other.size(); at += w) {
    double square = 0;
    for (size_t c = 0; c < w; ++c)
      other[at + c] = uniform(random), square += other[at + c] * other[at + c];
    for (size_t c = 0; c < w; ++c) other[at + c] /= std::sqrt(square);
    equal.insert(equal.end(), cone.begin(), cone.begin() + width);
  }
  double worst = 0;
  for (const std::vector<double>& vectors : {cone, other, equal}) {
    worst = std::max(worst, theory::mean_square_residual(vectors, width));
  }
  return worst;
}

}  // namespace sinkscope::app
