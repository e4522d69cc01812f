#pragma once

#include <cstdint>
#include <span>

namespace sinkscope::theory {

// How long a weighted mean of unit vectors is, and in which direction it points: the maths of the
// position-zero circuit (method.md section 12).

/// Unit values v_i = a u + sqrt(1 - a^2) s_i with s_i isotropic around u, weights p that sum to 1:
/// E ||sum p_i v_i||^2 = a^2 + (1 - a^2) sum p_i^2 (2603.06591 v2, Eq. 6). Largest, 1, where one
/// weight is 1, as the causal mask makes it at position 0.
double cone_square(double alpha, std::span<const double> weights);

/// Length of the mean direction of that sum over inputs, uniform weights over `keys` values:
/// a / sqrt(a^2 + (1 - a^2) / keys). It grows with the position: lowest at position 0.
double cone_direction(double alpha, double keys);

/// ||mean of `keys` unit vectors||^2 = c + (1 - c) / keys, c their mean cosine over pairs. Exact,
/// without any model of the vectors.
double mean_square(double cosine, double keys);

/// A line through points by least squares, and the share of the variance of y that it explains.
/// NaN where it is undefined: fewer than two points or a constant x; r2 also for a constant y.
struct Line {
  double intercept, slope, r2;
};
Line fit_line(std::span<const double> x, std::span<const double> y);

/// How far adding d turns a vector x: y = x + d, hats are unit vectors.
struct Turn {
  double size;   ///< ||y^ - x^||, from 0 to 2
  double first;  ///< ||d_perp|| / ||x||, what a norm layer does to first order (2603.06591 v2)
  double error;  ///< ||(y^ - x^) - d_perp / ||x||||
};
/// From xx = x.x, xd = x.d, dd = d.d: no cancellation where d is small beside x. NaN when x or y is
/// zero.
Turn turn_of(double xx, double xd, double dd);

}  // namespace sinkscope::theory
