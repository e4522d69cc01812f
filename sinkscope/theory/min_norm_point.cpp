#include "sinkscope/theory/min_norm_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "sinkscope/base/error.h"
#include "sinkscope/theory/cholesky.h"

namespace sinkscope::theory {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr size_t kBatch = 8;              // points that may join between two passes over all points
constexpr double kNoWeight = 1e-14;       // weights below it are taken out
constexpr double kDependent = 1e-11;      // relative distance from the active points' affine hull
constexpr double kCancelled = 1e-8;       // of a pivot's square: below, it is found from the points
constexpr double kRelativeGap = 1e-10;    // of |w|^2 at which the solver is content
constexpr double kNoise = 64 * kEpsilon;  // of |a| |w| in a product of two vectors
constexpr double kProgress = 1e-13;       // relative decrease of |w| that counts as one
constexpr int kMostStalls = 3;            // rounds without progress before it gives up

double longest(const PointSet& points) {
  double square = 0;
  for (int64_t i = 0; i < points.count(); ++i) {
    const double own = dot(points.point(i), points.point(i));
    if (!std::isfinite(own)) {
      throw Error(ErrorKind::kBadNumbers, "find the nearest point of a convex hull",
                  fmt::format("point {} has no finite length", i));
    }
    square = std::max(square, own);
  }
  return std::sqrt(square);
}

std::vector<double> combine(const PointSet& points, std::span<const int64_t> support,
                            std::span<const double> weights) {
  std::vector<double> sum(static_cast<size_t>(points.width));
  for (size_t k = 0; k < support.size(); ++k) {
    add_scaled(weights[k], points.point(support[k]), sum);
  }
  return sum;
}

/// A point that may join the active ones.
struct Candidate {
  int64_t index;
  std::vector<double> products;  // with each active point
  double square;
};

class Solver {
 public:
  Solver(const PointSet& points, const MinNormOptions& options)
      : points_(points),
        options_(options),
        scale_(longest(points)),
        lift_(scale_ * scale_),
        products_(static_cast<size_t>(points.count())),
        barred_(static_cast<size_t>(points.count())) {}

  MinNormPoint solve() {
    start();
    int stalls = 0;
    for (double last = std::numeric_limits<double>::infinity(); stalls < kMostStalls;) {
      settle();
      if (length_ <= options_.tolerance * scale_) break;
      stalls = length_ < last * (1 - kProgress) ? 0 : stalls + 1;
      last = std::min(last, length_);
      std::vector<Candidate> candidates = choose_candidates();
      if (candidates.empty()) break;
      while (!candidates.empty()) join_lowest(candidates);
    }
    return certify(points_, active_, weights_, options_);
  }

 private:
  void start() {
    int64_t nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < points_.count(); ++i) {
      const double square = dot(points_.point(i), points_.point(i));
      if (square < least) least = square, nearest = i;
    }
    active_ = {nearest};
    weights_ = {1};
    // The lifted points (sqrt(lift), a_i) are linearly independent where the a_i are affinely.
    if (lift_ > 0) factor_.append({}, std::sqrt(least + lift_));
  }

  /// w and |w| from the points, with the weights corrected until w.a is the same at every active
  /// point: M dp = -g + mu 1 with sum dp = 0 removes most of what rounding in M has left.
  void settle() {
    for (int step = 0;; ++step) {
      w_ = combine(points_, active_, weights_);
      const double square = dot(w_, w_);
      length_ = std::sqrt(square);
      std::vector<double> change(active_.size()), ones(active_.size(), 1.0);
      double off = 0;
      for (size_t k = 0; k < active_.size(); ++k) {
        change[k] = -dot(points_.point(active_[k]), w_);
        off = std::max(off, std::abs(change[k] + square));
      }
      if (step == 3 || off <= kNoise * scale_ * length_) return;
      factor_.solve(change);
      factor_.solve(ones);
      const double mu = std::accumulate(change.begin(), change.end(), 0.0) /
                        std::accumulate(ones.begin(), ones.end(), 0.0);
      double sum = 0;
      for (size_t k = 0; k < active_.size(); ++k) {
        weights_[k] = std::max(0.0, weights_[k] + change[k] - mu * ones[k]);
        sum += weights_[k];
      }
      for (double& weight : weights_) weight /= sum;
    }
  }

  /// The points that lie furthest below w.w, at most kBatch.
  std::vector<Candidate> choose_candidates() {
    const double square = length_ * length_;
    const double below = square - std::max(kRelativeGap * square, kNoise * scale_ * length_);
    std::vector<int64_t> order;
    for (int64_t i = 0; i < points_.count(); ++i) {
      double& product = products_[static_cast<size_t>(i)];
      product = dot(points_.point(i), w_);
      if (product < below && !barred_[static_cast<size_t>(i)]) order.push_back(i);
    }
    for (const int64_t i : active_) std::erase(order, i);
    const size_t count = std::min(kBatch, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count),
                      order.end(), [&](int64_t a, int64_t b) {
                        const double x = products_[static_cast<size_t>(a)],
                                     y = products_[static_cast<size_t>(b)];
                        return x != y ? x < y : a < b;
                      });
    std::vector<Candidate> candidates;
    for (size_t c = 0; c < count; ++c) {
      Candidate candidate{order[c], {}, dot(points_.point(order[c]), points_.point(order[c]))};
      for (const int64_t i : active_) {
        candidate.products.push_back(dot(points_.point(order[c]), points_.point(i)));
      }
      candidates.push_back(std::move(candidate));
    }
    return candidates;
  }

  /// Takes the candidate with the least w.a out of the list; it joins, and w moves to the nearest
  /// point of the hull of the active points.
  void join_lowest(std::vector<Candidate>& candidates) {
    size_t lowest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (size_t c = 0; c < candidates.size(); ++c) {
      const double product = dot(candidates[c].products, weights_);
      if (product < least) least = product, lowest = c;
    }
    const Candidate joining = std::move(candidates[lowest]);
    candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(lowest));
    if (!append(joining)) {
      barred_[static_cast<size_t>(joining.index)] = true;
      return;
    }
    for (Candidate& other : candidates) {
      other.products.push_back(dot(points_.point(other.index), points_.point(joining.index)));
    }
    descend(candidates);
  }

  /// False where the point lies, within rounding, in the affine hull of the active points.
  bool append(const Candidate& joining) {
    std::vector<double> coupling = joining.products;
    for (double& entry : coupling) entry += lift_;
    factor_.solve_transposed(coupling);
    const double diagonal = joining.square + lift_;
    double pivot_square = diagonal - dot(coupling, coupling);
    if (pivot_square < kCancelled * diagonal) pivot_square = residual(joining.index, coupling);
    if (pivot_square <= kDependent * kDependent * diagonal) return false;
    factor_.append(coupling, std::sqrt(pivot_square));
    active_.push_back(joining.index);
    weights_.push_back(0);
    return true;
  }

  /// Squared distance of the lifted point to the span of the lifted active ones, from the points:
  /// the difference of two squares has lost its digits. `coupling` is corrected once on the way
  /// (corrected seminormal equations, Bjorck, Linear Algebra Appl. 88, 1987).
  double residual(int64_t index, std::vector<double>& coupling) const {
    std::vector<double> rest;
    double lifted = 0;
    for (int pass = 0; pass < 2; ++pass) {
      std::vector<double> x = coupling;
      factor_.solve_upper(x);
      for (double& entry : x) entry = -entry;
      rest = combine(points_, active_, x);
      add_scaled(1, points_.point(index), rest);
      lifted = std::sqrt(lift_) * (1 + std::accumulate(x.begin(), x.end(), 0.0));
      if (pass == 1) break;
      std::vector<double> change(active_.size());
      for (size_t k = 0; k < active_.size(); ++k) {
        change[k] = dot(points_.point(active_[k]), rest) + std::sqrt(lift_) * lifted;
      }
      factor_.solve_transposed(change);
      add_scaled(1, change, coupling);
    }
    return dot(rest, rest) + lifted * lifted;
  }

  /// Wolfe's minor cycle: towards the nearest point of the affine hull; a weight that would turn
  /// negative on the way stops the step, and its point leaves.
  void descend(std::vector<Candidate>& candidates) {
    while (true) {
      std::vector<double> target(active_.size(), 1.0);  // M u = 1, then scaled to sum 1
      factor_.solve(target);
      const double sum = std::accumulate(target.begin(), target.end(), 0.0);
      for (double& weight : target) weight /= sum;
      double step = 1;
      size_t leaving = active_.size();
      for (size_t k = 0; k < active_.size(); ++k) {
        if (target[k] > kNoWeight) continue;
        const double way = weights_[k] - target[k],
                     reach = way > 0 ? std::min(1.0, weights_[k] / way) : 0;
        if (leaving == active_.size() || reach < step) step = reach, leaving = k;
      }
      for (size_t k = 0; k < active_.size(); ++k) {
        weights_[k] = std::max(0.0, weights_[k] + step * (target[k] - weights_[k]));
      }
      if (leaving == active_.size()) return;
      drop(leaving, candidates);
    }
  }

  void drop(size_t at, std::vector<Candidate>& candidates) {
    const auto offset = static_cast<std::ptrdiff_t>(at);
    factor_.remove(at);
    active_.erase(active_.begin() + offset);
    weights_.erase(weights_.begin() + offset);
    for (Candidate& other : candidates) other.products.erase(other.products.begin() + offset);
    // What depended on the active points may be independent of those that stay.
    std::fill(barred_.begin(), barred_.end(), false);
  }

  const PointSet& points_;
  const MinNormOptions& options_;
  double scale_, lift_;
  std::vector<double> products_;  // w.a_i
  std::vector<bool> barred_;      // may not join while the active points are what they are
  std::vector<int64_t> active_;
  std::vector<double> weights_;
  Cholesky factor_;  // of lift + a_i.a_j over the active points
  std::vector<double> w_;
  double length_ = 0;
};

}  // namespace

MinNormPoint certify(const PointSet& points, std::vector<int64_t> support,
                     std::vector<double> weights, const MinNormOptions& options) {
  MinNormPoint result;
  result.scale = longest(points);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  result.point = combine(points, support, weights);
  for (size_t k = 0; k < support.size(); ++k) {
    if (weights[k] <= 0) continue;
    result.support.push_back(support[k]);
    result.weights.push_back(weights[k]);
  }
  result.distance = std::sqrt(dot(result.point, result.point));
  if (result.distance <= options.tolerance * result.scale) {
    result.verdict = HullVerdict::kWithin;
    return result;
  }
  double least = std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < points.count(); ++i) {
    least = std::min(least, dot(points.point(i), result.point));
  }
  result.margin = least / result.distance;
  result.gap = (result.distance - result.margin) / result.distance;
  if (result.margin > options.tolerance * result.scale && result.gap <= options.gap) {
    result.verdict = HullVerdict::kApart;
  }
  return result;
}

MinNormPoint min_norm_point(const PointSet& points, const MinNormOptions& options) {
  if (points.count() == 0) {
    throw Error(ErrorKind::kUsage, "find the nearest point of a convex hull", "no points");
  }
  return Solver(points, options).solve();
}

}  // namespace sinkscope::theory
