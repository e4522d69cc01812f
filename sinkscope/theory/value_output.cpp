#include "sinkscope/theory/value_output.h"

#include <Eigen/Core>
#include <limits>
#include <set>

#include "sinkscope/theory/decompositions.h"
#include "sinkscope/theory/pattern.h"

namespace sinkscope::theory {
namespace {

constexpr double kRankTolerance = 1e-10;  // of the largest singular value
constexpr double kUnmet = 1e-8;           // of the targets' norm

}  // namespace

double value_output_cost(const PointSet& tokens, const std::vector<int64_t>& source,
                         bool silent_sink) {
  std::set<int64_t> sources(source.begin(), source.end());
  sources.erase(Pattern::kFree);
  if (sources.empty()) return 0;
  Eigen::MatrixXd z(tokens.width, static_cast<Eigen::Index>(sources.size()));
  Eigen::Index column = 0;
  for (const int64_t s : sources) {
    const auto token = tokens.point(s);
    z.col(column++) = Eigen::Map<const Eigen::VectorXd>(token.data(), tokens.width);
  }
  const Eigen::MatrixXd targets = z;
  const auto first = tokens.point(0);
  const Eigen::Map<const Eigen::VectorXd> sink(first.data(), tokens.width);
  if (silent_sink && sink.squaredNorm() > 0) {
    z -= sink * (sink.transpose() * z) / sink.squaredNorm();
  }
  const ThinSvd svd = thin_svd(z);
  const Eigen::VectorXd& values = svd.values;
  Eigen::Index rank = 0;
  while (rank < values.size() && values[rank] > kRankTolerance * targets.norm()) ++rank;
  const Eigen::MatrixXd v = svd.v.leftCols(rank);
  // W = Y V S^-1 U^T, and U has orthonormal columns.
  const Eigen::MatrixXd w = targets * v * values.head(rank).cwiseInverse().asDiagonal();
  if ((targets - targets * v * v.transpose()).norm() > kUnmet * targets.norm()) {
    return std::numeric_limits<double>::infinity();
  }
  return singular_values(w).sum();
}

}  // namespace sinkscope::theory
