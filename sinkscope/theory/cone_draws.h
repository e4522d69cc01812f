#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace sinkscope::theory {

/// Unit vectors alpha u + sqrt(1 - alpha^2) s with s isotropic across the axis u, which is the
/// first coordinate. [count, width], width >= 2, alpha in [-1, 1].
std::vector<double> draw_cone(double alpha, int64_t count, int64_t width, std::mt19937_64& random);

/// What was measured of o_t = sum_j p_tj v_j over draws of the v_j, with standard errors.
struct ConePosition {
  double square, square_error;  ///< mean of ||o_t||^2
  double along,
      along_error;  ///< mean of o_t.u / ||o_t||: length of the mean direction, by symmetry
};

/// `weights` [positions, positions] row-major: row t holds p_t. At least two draws; a sum of length
/// 0 has no direction and counts as 0 there. Time draws positions^2 width.
std::vector<ConePosition> measure_cone(double alpha, std::span<const double> weights,
                                       int64_t positions, int64_t width, int64_t draws,
                                       std::mt19937_64& random);

/// The largest | ||mean of the first t||^2 - (c + (1 - c) / t) | over t, c the mean cosine of their
/// pairs: rounding alone, for any unit vectors [count, width]. Time count^2 width.
double mean_square_residual(std::span<const double> vectors, int64_t width);

}  // namespace sinkscope::theory
