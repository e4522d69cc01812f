#include "sinkscope/theory/log_log.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sinkscope/theory/cone.h"

namespace sinkscope::theory {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

/// 97.5 % point of Student's t: exact for 1 and 2 degrees of freedom, above them by the
/// Cornish-Fisher series around the normal point (Abramowitz and Stegun 26.7.5), within 0.5 % at 3
/// and better beyond.
double student_point(double freedom) {
  if (freedom < 1.5) return 12.706204736;
  if (freedom < 2.5) return 4.302652730;
  constexpr double x = 1.959963985;
  const double x3 = x * x * x, x5 = x3 * x * x, x7 = x5 * x * x, x9 = x7 * x * x;
  const double g1 = (x3 + x) / 4, g2 = (5 * x5 + 16 * x3 + 3 * x) / 96,
               g3 = (3 * x7 + 19 * x5 + 17 * x3 - 15 * x) / 384,
               g4 = (79 * x9 + 776 * x7 + 1482 * x5 - 1920 * x3 - 945 * x) / 92160;
  return x + (g1 + (g2 + (g3 + g4 / freedom) / freedom) / freedom) / freedom;
}

}  // namespace

PowerLaw fit_power_law(std::span<const double> x, std::span<const double> y) {
  std::vector<double> log_x, log_y;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!(x[i] > 0) || !(y[i] > 0)) return {kUndefined, kUndefined, kUndefined};
    log_x.push_back(std::log(x[i])), log_y.push_back(std::log(y[i]));
  }
  const Line line = fit_line(log_x, log_y);
  PowerLaw law{line.slope, std::exp(line.intercept), kUndefined};
  const double freedom = static_cast<double>(x.size()) - 2;
  if (freedom < 1 || std::isnan(line.slope)) return law;
  double mean = 0, spread = 0, residual = 0;
  for (const double value : log_x) mean += value / static_cast<double>(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double off = log_y[i] - line.intercept - line.slope * log_x[i];
    residual += off * off;
    spread += (log_x[i] - mean) * (log_x[i] - mean);
  }
  law.error = student_point(freedom) * std::sqrt(residual / freedom / spread);
  return law;
}

}  // namespace sinkscope::theory
