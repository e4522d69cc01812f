#pragma once

#include <Eigen/Core>

namespace sinkscope::theory {

// Eigen's decompositions behind plain functions: their templates take minutes to compile, so one
// file holds them.

/// M = U diag(values) V^T with as many values as the smaller side, largest first.
struct ThinSvd {
  Eigen::MatrixXd u, v;
  Eigen::VectorXd values;
};
ThinSvd thin_svd(const Eigen::MatrixXd& m);
Eigen::VectorXd singular_values(const Eigen::MatrixXd& m);

/// Of a symmetric matrix, of which the lower half is read: smallest value first.
struct SymmetricEigen {
  Eigen::MatrixXd vectors;
  Eigen::VectorXd values;
};
SymmetricEigen symmetric_eigen(const Eigen::MatrixXd& m);
Eigen::VectorXd symmetric_eigenvalues(const Eigen::MatrixXd& m);

}  // namespace sinkscope::theory
