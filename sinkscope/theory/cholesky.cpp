#include "sinkscope/theory/cholesky.h"

#include <cmath>

namespace sinkscope::theory {

double dot(std::span<const double> x, std::span<const double> y) {
  // Eight sums: one alone waits for its own last addition.
  double sum[8] = {};
  const size_t n = x.size();
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (size_t k = 0; k < 8; ++k) sum[k] += x[i + k] * y[i + k];
  }
  for (; i < n; ++i) sum[0] += x[i] * y[i];
  return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

void add_scaled(double factor, std::span<const double> x, std::span<double> y) {
  for (size_t i = 0; i < x.size(); ++i) y[i] += factor * x[i];
}

void Cholesky::solve_transposed(std::span<double> b) const {
  for (size_t j = 0; j < size(); ++j) {
    const std::vector<double>& column = columns_[j];
    b[j] = (b[j] - dot(std::span(column).first(j), b)) / column[j];
  }
}

void Cholesky::solve_upper(std::span<double> b) const {
  for (size_t j = size(); j-- > 0;) {
    const std::vector<double>& column = columns_[j];
    b[j] /= column[j];
    add_scaled(-b[j], std::span(column).first(j), b);
  }
}

void Cholesky::solve(std::span<double> b) const {
  solve_transposed(b);
  solve_upper(b);
}

void Cholesky::append(std::span<const double> coupling, double pivot) {
  std::vector<double>& column = columns_.emplace_back(coupling.begin(), coupling.end());
  column.push_back(pivot);
}

void Cholesky::remove(size_t at) {
  columns_.erase(columns_.begin() + static_cast<std::ptrdiff_t>(at));
  // Each later column now reaches one below the diagonal; a rotation of two rows clears that entry.
  for (size_t j = at; j < size(); ++j) {
    const double above = columns_[j][j], below = columns_[j][j + 1];
    const double length = std::hypot(above, below);
    const double c = above / length, s = below / length;
    columns_[j][j] = length;
    columns_[j].resize(j + 1);
    for (size_t k = j + 1; k < size(); ++k) {
      const double x = columns_[k][j], y = columns_[k][j + 1];
      columns_[k][j] = c * x + s * y;
      columns_[k][j + 1] = c * y - s * x;
    }
  }
}

}  // namespace sinkscope::theory
