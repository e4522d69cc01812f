#include "sinkscope/theory/decompositions.h"

#include <Eigen/Eigenvalues>
#include <Eigen/SVD>

namespace sinkscope::theory {

ThinSvd thin_svd(const Eigen::MatrixXd& m) {
  const Eigen::BDCSVD<Eigen::MatrixXd> svd(m, Eigen::ComputeThinU | Eigen::ComputeThinV);
  return {svd.matrixU(), svd.matrixV(), svd.singularValues()};
}

Eigen::VectorXd singular_values(const Eigen::MatrixXd& m) {
  return Eigen::BDCSVD<Eigen::MatrixXd>(m).singularValues();
}

SymmetricEigen symmetric_eigen(const Eigen::MatrixXd& m) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(m);
  return {solver.eigenvectors(), solver.eigenvalues()};
}

Eigen::VectorXd symmetric_eigenvalues(const Eigen::MatrixXd& m) {
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(m, Eigen::EigenvaluesOnly).eigenvalues();
}

}  // namespace sinkscope::theory
