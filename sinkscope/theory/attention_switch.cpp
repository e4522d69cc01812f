#include "sinkscope/theory/attention_switch.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "sinkscope/theory/cholesky.h"
#include "sinkscope/theory/decompositions.h"

namespace sinkscope::theory {
namespace {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kDependent = 1e-12;  // sigma_min / sigma_max below which rounding decides

double length(std::span<const double> v) { return std::sqrt(dot(v, v)); }

double least_singular(const PointSet& rows) {
  if (rows.count() > rows.width) return 0;
  const Eigen::Map<const RowMatrix> matrix(rows.entries.data(), rows.count(), rows.width);
  const Eigen::VectorXd singular = singular_values(matrix);
  const double least = singular.minCoeff();
  return least > kDependent * singular.maxCoeff() ? least : 0;
}

std::vector<double> spread(const MinNormPoint& nearest, int64_t count) {
  std::vector<double> weights(static_cast<size_t>(count));
  for (size_t k = 0; k < nearest.support.size(); ++k) {
    weights[static_cast<size_t>(nearest.support[k])] = nearest.weights[k];
  }
  return weights;
}

double proved_distance(const MinNormPoint& nearest) {
  return nearest.verdict == HullVerdict::kApart ? nearest.margin : 0;
}

}  // namespace

double attention_from_margin(double margin, double others) {
  return 1 / (1 + others * std::exp(-margin));
}

std::vector<double> softmax(std::span<const double> logits) {
  const double most = *std::max_element(logits.begin(), logits.end());
  std::vector<double> shares;
  double sum = 0;
  for (const double logit : logits) sum += shares.emplace_back(std::exp(logit - most));
  for (double& share : shares) share /= sum;
  return shares;
}

SwitchPremises switch_premises(const PointSet& values) {
  const PointSet others{values.entries.subspan(static_cast<size_t>(values.width)), values.width};
  const MinNormPoint nearest = min_norm_point(others), nearest_all = min_norm_point(values);
  SwitchPremises premises;
  premises.half_space = proved_distance(nearest);
  premises.sink_along =
      premises.half_space > 0 ? dot(nearest.point, values.point(0)) / nearest.distance : kNaN;
  premises.independent = least_singular(others);
  premises.all_apart = proved_distance(nearest_all);
  premises.sink_norm = length(values.point(0));
  premises.longest = nearest.scale;
  premises.shortest = spread(nearest, others.count());
  premises.shortest_all = spread(nearest_all, values.count());
  return premises;
}

SwitchOutput switch_output(const PointSet& values, std::span<const double> attention) {
  std::vector<double> sum(static_cast<size_t>(values.width));
  SwitchOutput output;
  double others = 0;
  for (int64_t j = 0; j < values.count(); ++j) {
    const double share = attention[static_cast<size_t>(j)], norm = length(values.point(j));
    add_scaled(share, values.point(j), sum);
    output.uncancelled += share * norm;
    if (j > 0) others += norm, output.rest += share;
  }
  output.norm = length(sum);
  output.sink = attention[0];
  const double mean = others / static_cast<double>(values.count() - 1);
  output.off = mean > 0 ? output.norm / mean : kNaN;
  return output;
}

SwitchBounds switch_bounds(const SwitchPremises& premises, int64_t others,
                           const SwitchOutput& output) {
  SwitchBounds bounds{kNaN, kNaN, kNaN,
                      output.sink * premises.sink_norm + output.rest * premises.longest};
  if (premises.half_space > 0 && premises.sink_along >= 0) {
    bounds.half_space = premises.half_space * output.rest;
  }
  if (premises.independent > 0 && premises.sink_norm == 0) {
    bounds.independent =
        premises.independent * output.rest / std::sqrt(static_cast<double>(others));
  }
  if (premises.all_apart > 0) bounds.all_apart = premises.all_apart;
  return bounds;
}

}  // namespace sinkscope::theory
