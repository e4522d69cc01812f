#include "sinkscope/theory/cone.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sinkscope::theory {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

double cone_square(double alpha, std::span<const double> weights) {
  double square = 0;
  for (const double weight : weights) square += weight * weight;
  return alpha * alpha + (1 - alpha * alpha) * square;
}

double cone_direction(double alpha, double keys) {
  return alpha / std::sqrt(alpha * alpha + (1 - alpha * alpha) / keys);
}

double mean_square(double cosine, double keys) { return cosine + (1 - cosine) / keys; }

Line fit_line(std::span<const double> x, std::span<const double> y) {
  if (x.size() < 2) return {kNaN, kNaN, kNaN};
  const double x_mean = mean(x), y_mean = mean(y);
  double xx = 0, xy = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - x_mean) * (x[i] - x_mean);
    xy += (x[i] - x_mean) * (y[i] - y_mean);
    yy += (y[i] - y_mean) * (y[i] - y_mean);
  }
  if (xx == 0) return {kNaN, kNaN, kNaN};
  const double slope = xy / xx;
  return {y_mean - slope * x_mean, slope, yy == 0 ? kNaN : xy * xy / (xx * yy)};
}

Turn turn_of(double xx, double xd, double dd) {
  const double yy = xx + 2 * xd + dd;
  if (!(xx > 0) || !(yy > 0)) return {kNaN, kNaN, kNaN};
  const double perp = std::sqrt(std::max(0.0, dd - xd * xd / xx));
  const double x = std::sqrt(xx), y = std::sqrt(yy);
  const double sine = std::min(1.0, perp / y), cosine = (xx + xd) / (x * y);
  // 1 - cos directly would cancel for small angles.
  const double lag = cosine > 0 ? sine * sine / (1 + cosine) : 1 - cosine;
  const double first = perp / x;
  return {std::hypot(sine, lag), first, std::hypot(sine - first, lag)};
}

}  // namespace sinkscope::theory
