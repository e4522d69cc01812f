#pragma once

#include <span>

namespace sinkscope::theory {

/// y ~ factor x^exponent by least squares of the logarithms.
struct PowerLaw {
  double exponent, factor;
  /// Half width of the 95 % interval of the exponent, Student's t with points - 2 degrees of
  /// freedom. It says how straight the curve is, not how well each value is known.
  double error;
};
/// NaN where it is undefined: fewer than two points, an x or y that is not positive, a constant x;
/// the error also for two points.
PowerLaw fit_power_law(std::span<const double> x, std::span<const double> y);

}  // namespace sinkscope::theory
