#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "sinkscope/theory/smoothing.h"

namespace sinkscope::theory {

/// Independent Gaussian tokens x and one attention step on them (method.md section 9): a value adds
/// u = map x to the skip stream r, which is x itself or 0. Matrices are row-major [width, width].
struct StepModel {
  int64_t width = 0;
  std::vector<double> map;         ///< beta W
  std::vector<double> covariance;  ///< Sigma, symmetric
  std::vector<double> mean;        ///< of x [width]
  bool skip = true;                ///< r = x; otherwise 0
  bool centred = false;  ///< a LayerNorm reads the result: r and u without their channel mean
};

/// R = tr Sigma, C = tr Sigma map^T, E = tr map Sigma map^T, N0 = ||mean + map mean||^2; behind a
/// LayerNorm of their projections off the all-ones vector. Time width^3.
StepMoments step_moments(const StepModel& model);

/// The smaller (tr S)^2 / tr S^2 of the covariances S of a token after the step at lambda = 0 and,
/// for many tokens, at lambda = 1. The prediction's error is of the order of 1 / this. A covariance
/// of 0 does not count; infinite when both are 0. Time width^3.
double effective_rank(const StepModel& model);

/// A matrix L with L L^T = covariance. Throws kUsage where an eigenvalue is negative by more than
/// 1e-9 of the largest. Time width^3.
std::vector<double> covariance_root(std::span<const double> covariance, int64_t width);

/// Draws tokens of a model and makes the step.
class StepSampler {
 public:
  /// Throws as covariance_root.
  explicit StepSampler(const StepModel& model);

  /// Mean cosine over the pairs of `tokens` (T >= 2) tokens at each lambda, all of one draw;
  /// NaN where a token has no length. Time T width^2.
  std::vector<double> cosines(int64_t tokens, bool causal, std::span<const double> lambdas,
                              std::mt19937_64& random) const;

 private:
  StepModel model_;
  std::vector<double> root_;
};

/// A value-output map W of a given kind [width, width].
struct MapKind {
  std::string_view name;
  std::string_view definition;
  bool random;
  std::vector<double> (*make)(int64_t width, int64_t rank, std::mt19937_64&);
};
std::span<const MapKind> map_kinds();

/// The eigenvalues of a token covariance, along the axes [width].
struct CovarianceKind {
  std::string_view name;
  std::string_view definition;
  std::vector<double> (*eigenvalues)(int64_t width, int64_t rank);
};
std::span<const CovarianceKind> covariance_kinds();

}  // namespace sinkscope::theory
