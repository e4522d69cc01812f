#include "sinkscope/theory/cone_draws.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "sinkscope/theory/cholesky.h"
#include "sinkscope/theory/cone.h"

namespace sinkscope::theory {
namespace {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstMatrix = Eigen::Map<const RowMatrix>;

/// Running mean and spread (Welford).
struct Moments {
  double count = 0, mean = 0, squares = 0;

  void add(double value) {
    const double off = value - mean;
    count += 1;
    mean += off / count;
    squares += off * (value - mean);
  }
  double standard_error() const { return std::sqrt(squares / (count - 1) / count); }
};

}  // namespace

std::vector<double> draw_cone(double alpha, int64_t count, int64_t width, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  const double across = std::sqrt(std::max(0.0, 1 - alpha * alpha));
  std::vector<double> vectors(static_cast<size_t>(count * width));
  for (int64_t i = 0; i < count; ++i) {
    const std::span<double> v =
        std::span(vectors).subspan(static_cast<size_t>(i * width), static_cast<size_t>(width));
    const std::span<double> side = v.subspan(1);
    double length = 0;
    while (!(length > 0)) {
      for (double& entry : side) entry = normal(random);
      length = std::sqrt(dot(side, side));
    }
    v[0] = alpha;
    for (double& entry : side) entry *= across / length;
  }
  return vectors;
}

std::vector<ConePosition> measure_cone(double alpha, std::span<const double> weights,
                                       int64_t positions, int64_t width, int64_t draws,
                                       std::mt19937_64& random) {
  const ConstMatrix attention(weights.data(), positions, positions);
  std::vector<Moments> squares(static_cast<size_t>(positions)), along(squares.size());
  for (int64_t draw = 0; draw < draws; ++draw) {
    const std::vector<double> values = draw_cone(alpha, positions, width, random);
    const RowMatrix sums = attention * ConstMatrix(values.data(), positions, width);
    for (int64_t t = 0; t < positions; ++t) {
      const double square = sums.row(t).squaredNorm();
      squares[static_cast<size_t>(t)].add(square);
      along[static_cast<size_t>(t)].add(square > 0 ? sums(t, 0) / std::sqrt(square) : 0);
    }
  }
  std::vector<ConePosition> measured;
  for (size_t t = 0; t < squares.size(); ++t) {
    measured.push_back(
        {squares[t].mean, squares[t].standard_error(), along[t].mean, along[t].standard_error()});
  }
  return measured;
}

double mean_square_residual(std::span<const double> vectors, int64_t width) {
  const auto w = static_cast<size_t>(width);
  std::vector<double> sum(w);
  double cosines = 0, worst = 0;
  for (size_t t = 1; t * w <= vectors.size(); ++t) {
    const std::span<const double> v = vectors.subspan((t - 1) * w, w);
    for (size_t j = 0; j + 1 < t; ++j) cosines += dot(v, vectors.subspan(j * w, w));
    add_scaled(1, v, sum);
    const auto n = static_cast<double>(t);
    const double mean_cosine = t > 1 ? cosines / (n * (n - 1) / 2) : 1;
    worst = std::max(worst, std::abs(dot(sum, sum) / (n * n) - mean_square(mean_cosine, n)));
  }
  return worst;
}

}  // namespace sinkscope::theory
