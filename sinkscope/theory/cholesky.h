#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace sinkscope::theory {

/// Upper triangular R with M = R^T R for a symmetric positive definite M of changing size. A row
/// and column of M is appended or removed at the price of n^2, where factoring anew costs n^3.
class Cholesky {
 public:
  size_t size() const { return columns_.size(); }

  /// R^-T b and R^-1 b, in place; b [size()].
  void solve_transposed(std::span<double> b) const;
  void solve_upper(std::span<double> b) const;
  /// M^-1 b in place.
  void solve(std::span<double> b) const;

  /// M grows by a last row and column: `coupling` = R^-T m [size()] with m the new column above the
  /// diagonal, `pivot` > 0 the square root of its diagonal entry less |coupling|^2.
  void append(std::span<const double> coupling, double pivot);
  /// Takes row and column `at` out of M.
  void remove(size_t at);

 private:
  std::vector<std::vector<double>> columns_;  // column j holds R_0j .. R_jj
};

/// sum_i x_i y_i over x.size() entries.
double dot(std::span<const double> x, std::span<const double> y);
/// y += factor x.
void add_scaled(double factor, std::span<const double> x, std::span<double> y);

}  // namespace sinkscope::theory
