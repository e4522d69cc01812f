#include "sinkscope/theory/cost_program.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <chrono>
#include <cmath>

#include "sinkscope/base/error.h"
#include "sinkscope/theory/decompositions.h"

namespace sinkscope::theory {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using Clock = std::chrono::steady_clock;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRankTolerance = 1e-12;  // of the tokens' largest singular value
constexpr double kShownRank = 1e-3;
constexpr int64_t kEvery = 10;       // steps between two looks at the bounds
constexpr int64_t kTuned = 2000;     // steps after which rho stays, so that the steps converge
constexpr double kRelaxation = 1.6;  // over-relaxation, 1.5 to 1.8 in the literature
constexpr double kUnbalanced = 5;    // ratio of the residuals at which rho changes
constexpr double kRhoStep = 1.5;
constexpr double kNoSolution = 1e10;  // a lower bound beyond it, of tokens of length 1: no W

/// The norm that is minimised, its shrinkage and its dual.
struct Norm {
  double (*size)(const Matrix&);
  double (*dual)(const Matrix&);
  /// Nearest X to Y in |X - Y|^2 / 2 + threshold |X|.
  Matrix (*shrink)(const Matrix&, double threshold);
};

double operator_norm(const Matrix& m) {
  return std::sqrt(std::max(0.0, symmetric_eigenvalues(m.transpose() * m).maxCoeff()));
}

/// By the eigenvectors of Y^T Y: values below the threshold are dropped, so their loss of digits
/// does not matter.
Matrix shrink_singular_values(const Matrix& y, double threshold) {
  const auto [vectors, squares] = symmetric_eigen(y.transpose() * y);
  Eigen::Index kept = 0;
  while (kept < squares.size() && squares[squares.size() - 1 - kept] > threshold * threshold)
    ++kept;
  const Matrix v = vectors.rightCols(kept);
  const Vector factor = 1 - threshold / squares.tail(kept).array().sqrt();
  return (y * v) * factor.asDiagonal() * v.transpose();
}

constexpr Norm kNuclear{[](const Matrix& m) { return singular_values(m).sum(); }, operator_norm,
                        shrink_singular_values};
constexpr Norm kFrobenius{[](const Matrix& m) { return m.norm(); },
                          [](const Matrix& m) { return m.norm(); },
                          [](const Matrix& y, double threshold) -> Matrix {
                            const double size = y.norm();
                            return y * (size > threshold ? 1 - threshold / size : 0.0);
                          }};

/// A as Q diag(sqrt(l)) in the coordinates of its own row space: columns are orthogonal, and their
/// squared lengths are the eigenvalues of A^T A.
struct Coordinates {
  Matrix rows;
  Vector eigenvalues;

  explicit Coordinates(const Matrix& a) {
    const auto [u, v, values] = thin_svd(a);
    Eigen::Index rank = 0;
    while (rank < values.size() && values[rank] > kRankTolerance * values[0]) ++rank;
    rows = u.leftCols(rank) * values.head(rank).asDiagonal();
    eigenvalues = values.head(rank).array().square();
  }
};

class Program {
 public:
  Program(const PointSet& tokens, const Pattern& pattern, const Norm& norm,
          const ProgramOptions& options)
      : pattern_(pattern), norm_(norm), options_(options) {
    bring_in(tokens);
  }

  ProgramResult run() {
    ProgramResult result;
    if (pattern_.pairs() == 0) {
      result.cost = {0, 0};
      return result;
    }
    if (queries_.cols() == 0 ||
        keys_.cols() == 0) {  // no query, or no key, differs from the others
      result.cost = {kInfinity, kInfinity};
      return result;
    }
    start();
    const Clock::time_point begin = Clock::now();
    while (result.iterations < options_.iterations) {
      step(++result.iterations);
      if (result.iterations % kEvery != 0) continue;
      look();
      if (lower_ > kNoSolution || gap() <= options_.gap) break;
      if (std::chrono::duration<double>(Clock::now() - begin).count() > options_.seconds) break;
    }
    finish(result);
    return result;
  }

 private:
  /// Queries of length 1, their lengths being put into the margins, and keys around their mean,
  /// which no comparison sees: both make the steps converge faster and change nothing else.
  void bring_in(const PointSet& tokens) {
    using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const Eigen::Map<const RowMajor> raw(tokens.entries.data(), tokens.count(), tokens.width);
    scale_ = raw.rowwise().norm().mean();
    if (scale_ == 0) return;
    Matrix queries = raw / scale_;
    margins_ = Vector::Ones(queries.rows());
    for (Eigen::Index i = 0; i < queries.rows(); ++i) {
      const double length = queries.row(i).norm();
      const bool free = pattern_.winner[static_cast<size_t>(i)] == Pattern::kFree;
      if (free) queries.row(i).setZero();
      if (free || length == 0) continue;
      queries.row(i) /= length;
      margins_[i] = 1 / length;
    }
    Matrix keys = raw / scale_;
    keys.rowwise() -= keys.colwise().mean().eval();
    const Coordinates left(queries), right(keys);
    queries_ = left.rows, keys_ = right.rows;
    if (queries_.cols() == 0 || keys_.cols() == 0) return;
    // Both blocks of the W step weigh the same on the strongest directions.
    eta_ = 1 / std::sqrt(left.eigenvalues.maxCoeff() * right.eigenvalues.maxCoeff());
    divisor_ = (1 + eta_ * (left.eigenvalues * right.eigenvalues.transpose()).array()).matrix();
  }

  void start() {
    x_ = u_ = Matrix::Zero(queries_.cols(), keys_.cols());
    logits_ = v_ = Matrix::Zero(queries_.rows(), keys_.rows());
    project(logits_);
  }

  void step(int64_t iteration) {
    w_ = x_ - u_ + eta_ * (queries_.transpose() * (logits_ - v_) * keys_);
    w_.array() /= divisor_.array();
    products_.noalias() = queries_ * w_ * keys_.transpose();
    const Matrix relaxed = kRelaxation * w_ + (1 - kRelaxation) * x_,
                 relaxed_products = kRelaxation * products_ + (1 - kRelaxation) * logits_;
    const Matrix old_x = x_, old_logits = logits_;
    x_ = norm_.shrink(relaxed + u_, 1 / rho_);
    logits_ = relaxed_products + v_;
    project(logits_);
    u_ += relaxed - x_;
    v_ += relaxed_products - logits_;
    if (iteration % kEvery == 0 && iteration <= kTuned) {
      tune((w_ - x_).squaredNorm() + eta_ * (products_ - logits_).squaredNorm(),
           (x_ - old_x).squaredNorm() + eta_ * (logits_ - old_logits).squaredNorm());
    }
  }

  /// Residual balancing (Boyd et al., Foundations and Trends in Machine Learning 3, 2011).
  void tune(double primal_sq, double dual_sq) {
    double factor = 1;
    if (primal_sq > kUnbalanced * kUnbalanced * dual_sq) factor = kRhoStep;
    if (dual_sq > kUnbalanced * kUnbalanced * primal_sq) factor = 1 / kRhoStep;
    rho_ *= factor;
    u_ /= factor;
    v_ /= factor;
  }

  /// Every row to the nearest one whose winner leads by the row's margin: the largest others come
  /// down to a common height, the winner rises to meet them.
  void project(Matrix& logits) const {
    std::vector<double> others;
    for (Eigen::Index i = 0; i < logits.rows(); ++i) {
      const int64_t winner = pattern_.winner[static_cast<size_t>(i)];
      if (winner == Pattern::kFree) continue;
      const int64_t visible = pattern_.visible(i);
      others.clear();
      for (int64_t j = 0; j < visible; ++j) {
        if (j != winner) others.push_back(logits(i, j) + margins_[i]);
      }
      std::sort(others.begin(), others.end(), std::greater<>());
      double height = logits(i, winner), sum = height;
      for (size_t k = 0; k < others.size() && others[k] > height; ++k) {
        sum += others[k];
        height = sum / static_cast<double>(k + 2);
      }
      for (int64_t j = 0; j < visible; ++j) {
        if (j != winner) logits(i, j) = std::min(logits(i, j), height - margins_[i]);
      }
      logits(i, winner) = height;
    }
  }

  void look() {
    lower_upper_bound(x_, queries_ * x_ * keys_.transpose());
    lower_upper_bound(w_, products_);
    // P_ij of the pairs; the winner's own entry balances its row.
    Matrix weights = Matrix::Zero(v_.rows(), v_.cols());
    double total = 0;
    for (Eigen::Index i = 0; i < v_.rows(); ++i) {
      const int64_t winner = pattern_.winner[static_cast<size_t>(i)];
      if (winner == Pattern::kFree) continue;
      double row = 0;
      for (int64_t j = 0; j < pattern_.visible(i); ++j) {
        if (j == winner || v_(i, j) <= 0) continue;
        weights(i, j) = -v_(i, j);
        row += v_(i, j);
      }
      weights(i, winner) = row;
      total += row * margins_[i];
    }
    if (total == 0) return;
    const double dual = norm_.dual(queries_.transpose() * weights * keys_);
    lower_ = std::max(lower_, dual > 0 ? total / dual : kInfinity);
  }

  void lower_upper_bound(const Matrix& candidate, const Matrix& products) {
    double lead = kInfinity;  // in parts of the row's margin
    for (Eigen::Index i = 0; i < products.rows(); ++i) {
      const int64_t winner = pattern_.winner[static_cast<size_t>(i)];
      if (winner == Pattern::kFree) continue;
      for (int64_t j = 0; j < pattern_.visible(i); ++j) {
        if (j != winner) {
          lead = std::min(lead, (products(i, winner) - products(i, j)) / margins_[i]);
        }
      }
    }
    if (!(lead > 0)) return;
    const double cost = norm_.size(candidate) / lead;
    if (cost < upper_) upper_ = cost, best_ = candidate;
  }

  double gap() const { return std::isfinite(upper_) ? (upper_ - lower_) / upper_ : 1; }

  void finish(ProgramResult& result) const {
    if (lower_ > kNoSolution) {
      result.cost = {kInfinity, kInfinity};
      return;
    }
    // Two roundings of one number may cross.
    const double lower = std::min(lower_, upper_);
    result.cost = {lower / (scale_ * scale_), upper_ / (scale_ * scale_)};
    result.gap = std::max(0.0, gap());
    if (best_.size() == 0) return;
    const Vector values = singular_values(best_);
    result.rank = (values.array() > kShownRank * values[0]).count();
  }

  const Pattern& pattern_;
  const Norm& norm_;
  const ProgramOptions& options_;
  Matrix queries_, keys_;  // [tokens, rank], of mean length 1
  Vector margins_;         // [tokens]
  double scale_ = 1, eta_ = 1, rho_ = 1;
  Matrix divisor_;
  Matrix w_, x_, u_;              // [rank of the queries, of the keys]
  Matrix products_, logits_, v_;  // [tokens, tokens]
  Matrix best_;                   // of the upper bound
  double lower_ = 0, upper_ = kInfinity;
};

void check(const PointSet& tokens, const Pattern& pattern) {
  if (tokens.count() != pattern.tokens() || tokens.count() < 1) {
    throw Error(ErrorKind::kUsage, "find the least cost of a pattern",
                fmt::format("{} tokens for a pattern of {}", tokens.count(), pattern.tokens()));
  }
  for (const double entry : tokens.entries) {
    if (std::isfinite(entry)) continue;
    throw Error(ErrorKind::kBadNumbers, "find the least cost of a pattern",
                "a token has an entry that is not finite");
  }
}

}  // namespace

ProgramResult nuclear_cost(const PointSet& tokens, const Pattern& pattern,
                           const ProgramOptions& options) {
  check(tokens, pattern);
  return Program(tokens, pattern, kNuclear, options).run();
}

ProgramResult frobenius_cost(const PointSet& tokens, const Pattern& pattern,
                             const ProgramOptions& options) {
  check(tokens, pattern);
  return Program(tokens, pattern, kFrobenius, options).run();
}

MinNormPoint pair_hull(const PointSet& tokens, const Pattern& pattern,
                       const MinNormOptions& options) {
  check(tokens, pattern);
  std::vector<double> entries;
  for (int64_t i = 0; i < pattern.tokens(); ++i) {
    const int64_t winner = pattern.winner[static_cast<size_t>(i)];
    if (winner == Pattern::kFree) continue;
    const auto first = tokens.point(winner);
    for (int64_t j = 0; j < pattern.visible(i); ++j) {
      if (j == winner) continue;
      const auto other = tokens.point(j);
      for (const double query : tokens.point(i)) {
        for (size_t k = 0; k < first.size(); ++k) entries.push_back(query * (first[k] - other[k]));
      }
    }
  }
  return min_norm_point({entries, tokens.width * tokens.width}, options);
}

}  // namespace sinkscope::theory
