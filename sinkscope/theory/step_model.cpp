#include "sinkscope/theory/step_model.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "sinkscope/base/error.h"
#include "sinkscope/theory/decompositions.h"

namespace sinkscope::theory {
namespace {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstMatrix = Eigen::Map<const RowMatrix>;
using ConstVector = Eigen::Map<const Eigen::VectorXd>;

constexpr double kNegative = 1e-9;  // of the largest eigenvalue: rounding of a rank-deficient one

ConstMatrix square(std::span<const double> entries, int64_t width) {
  return {entries.data(), width, width};
}

/// The trace of the covariance behind the projection off the all-ones vector.
double trace(const RowMatrix& covariance, bool centred) {
  const double all = covariance.trace();
  return centred ? all - covariance.sum() / static_cast<double>(covariance.rows()) : all;
}

double rank_of(RowMatrix covariance, bool centred) {
  if (centred) {
    const Eigen::RowVectorXd columns = covariance.colwise().mean();
    covariance.rowwise() -= columns;
    const Eigen::VectorXd rows = covariance.rowwise().mean();
    covariance.colwise() -= rows;
  }
  const double sum = covariance.trace(), squares = covariance.squaredNorm();
  return squares > 0 ? sum * sum / squares : std::numeric_limits<double>::infinity();
}

RowMatrix gaussian(int64_t rows, int64_t columns, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  RowMatrix matrix(rows, columns);
  for (int64_t i = 0; i < matrix.size(); ++i) matrix.data()[i] = normal(random);
  return matrix;
}

/// Mean cosine over the pairs of rows; NaN where a row has no length.
double mean_cosine(const RowMatrix& rows) {
  Eigen::RowVectorXd total = Eigen::RowVectorXd::Zero(rows.cols());
  for (int64_t i = 0; i < rows.rows(); ++i) {
    const double length = rows.row(i).norm();
    if (!(length > 0)) return std::numeric_limits<double>::quiet_NaN();
    total += rows.row(i) / length;
  }
  const auto n = static_cast<double>(rows.rows());
  return (total.squaredNorm() - n) / (n * (n - 1));
}

/// Row i: the mean of the rows that query i sees.
RowMatrix seen_means(const RowMatrix& rows, bool causal) {
  if (!causal) return rows.colwise().mean().replicate(rows.rows(), 1);
  RowMatrix means(rows.rows(), rows.cols());
  Eigen::RowVectorXd sum = Eigen::RowVectorXd::Zero(rows.cols());
  for (int64_t i = 0; i < rows.rows(); ++i) {
    sum += rows.row(i);
    means.row(i) = sum / static_cast<double>(i + 1);
  }
  return means;
}

std::vector<double> entries_of(const RowMatrix& matrix) {
  return {matrix.data(), matrix.data() + matrix.size()};
}

std::vector<double> identity_map(int64_t width, int64_t, std::mt19937_64&) {
  return entries_of(RowMatrix::Identity(width, width));
}

std::vector<double> random_map(int64_t width, int64_t, std::mt19937_64& random) {
  return entries_of(gaussian(width, width, random) / std::sqrt(static_cast<double>(width)));
}

std::vector<double> symmetric_map(int64_t width, int64_t, std::mt19937_64& random) {
  const RowMatrix half = gaussian(width, width, random);
  return entries_of((half + half.transpose()) / std::sqrt(2 * static_cast<double>(width)));
}

std::vector<double> skew_map(int64_t width, int64_t, std::mt19937_64& random) {
  const RowMatrix half = gaussian(width, width, random);
  return entries_of((half - half.transpose()) / std::sqrt(2 * static_cast<double>(width)));
}

std::vector<double> anti_aligned_map(int64_t width, int64_t rank, std::mt19937_64&) {
  RowMatrix map = RowMatrix::Zero(width, width);
  map.diagonal().head(std::min(rank, width)).setConstant(-1);
  return entries_of(map);
}

std::vector<double> equal_eigenvalues(int64_t width, int64_t) {
  return std::vector<double>(static_cast<size_t>(width), 1.0);
}

std::vector<double> few_eigenvalues(int64_t width, int64_t rank) {
  std::vector<double> eigenvalues(static_cast<size_t>(width));
  std::fill_n(eigenvalues.begin(), std::min(rank, width), 1.0);
  return eigenvalues;
}

std::vector<double> falling_eigenvalues(int64_t width, int64_t) {
  std::vector<double> eigenvalues(static_cast<size_t>(width));
  for (size_t k = 0; k < eigenvalues.size(); ++k) eigenvalues[k] = 1 / static_cast<double>(k + 1);
  return eigenvalues;
}

constexpr MapKind kMaps[] = {
    {"identity", "W = I", false, identity_map},
    {"random", "independent entries N(0, 1/d)", true, random_map},
    {"symmetric", "symmetric, off the diagonal N(0, 1/d)", true, symmetric_map},
    {"skew", "W^T = -W, entries N(0, 1/d): tr W = 0", true, skew_map},
    {"anti-aligned", "-I on the first --rank axes, 0 on the others", false, anti_aligned_map},
};

constexpr CovarianceKind kCovariances[] = {
    {"identity", "I", equal_eigenvalues},
    {"low-rank", "1 along the first --rank axes, 0 along the others", few_eigenvalues},
    {"power", "1/k along axis k = 1, 2, ..", falling_eigenvalues},
};

}  // namespace

StepMoments step_moments(const StepModel& model) {
  const ConstMatrix map = square(model.map, model.width);
  const ConstMatrix covariance = square(model.covariance, model.width);
  const ConstVector mean(model.mean.data(), model.width);
  const RowMatrix moved = map * covariance;  // covariance of u with x
  Eigen::VectorXd sum = map * mean;
  if (model.skip) sum += mean;
  if (model.centred) sum.array() -= sum.mean();
  StepMoments moments;
  moments.update = trace(moved * map.transpose(), model.centred);
  moments.mean_sq = sum.squaredNorm();
  if (model.skip) {
    moments.skip = trace(covariance, model.centred);
    moments.cross = trace(moved, model.centred);
  }
  return moments;
}

double effective_rank(const StepModel& model) {
  RowMatrix factor = square(model.map, model.width);
  if (model.skip) factor += RowMatrix::Identity(model.width, model.width);
  const ConstMatrix covariance = square(model.covariance, model.width);
  const double before = rank_of(factor * covariance * factor.transpose(), model.centred);
  return model.skip ? std::min(before, rank_of(covariance, model.centred)) : before;
}

std::vector<double> covariance_root(std::span<const double> covariance, int64_t width) {
  const auto [vectors, values] = symmetric_eigen(square(covariance, width));
  if (values.minCoeff() < -kNegative * values.cwiseAbs().maxCoeff()) {
    throw Error(ErrorKind::kUsage, "read a covariance",
                fmt::format("it has the eigenvalue {:.4g}", values.minCoeff()),
                "a covariance has none below 0; numpy.cov of samples is one");
  }
  return entries_of(vectors * values.cwiseMax(0).cwiseSqrt().asDiagonal());
}

StepSampler::StepSampler(const StepModel& model)
    : model_(model), root_(covariance_root(model.covariance, model.width)) {}

std::vector<double> StepSampler::cosines(int64_t tokens, bool causal,
                                         std::span<const double> lambdas,
                                         std::mt19937_64& random) const {
  const ConstVector mean(model_.mean.data(), model_.width);
  RowMatrix x = gaussian(tokens, model_.width, random) * square(root_, model_.width).transpose();
  x.rowwise() += mean.transpose();
  RowMatrix u = x * square(model_.map, model_.width).transpose();
  if (!model_.skip) x.setZero();
  if (model_.centred) {
    const Eigen::VectorXd x_means = x.rowwise().mean(), u_means = u.rowwise().mean();
    x.colwise() -= x_means;
    u.colwise() -= u_means;
  }
  const RowMatrix mixed = seen_means(u, causal);
  std::vector<double> cosines;
  for (const double lambda : lambdas) {
    cosines.push_back(mean_cosine(x + (1 - lambda) * u + lambda * mixed));
  }
  return cosines;
}

std::span<const MapKind> map_kinds() { return kMaps; }
std::span<const CovarianceKind> covariance_kinds() { return kCovariances; }

}  // namespace sinkscope::theory
