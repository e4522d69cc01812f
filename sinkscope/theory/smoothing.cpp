#include "sinkscope/theory/smoothing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace sinkscope::theory {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// The terms of section 9 at one lambda.
struct Terms {
  double own;     ///< D
  double direct;  ///< a: a token in the other one's mean
  double shared;  ///< q: a token in both means
  double mean_sq;

  Terms(const StepMoments& m, double lambda)
      : own(m.skip + 2 * (1 - lambda) * m.cross + (1 - lambda) * (1 - lambda) * m.update),
        direct(lambda * (m.cross + (1 - lambda) * m.update)),
        shared(lambda * lambda * m.update),
        mean_sq(m.mean_sq) {}
  double length_sq(double keys) const { return mean_sq + own + (2 * direct + shared) / keys; }
};

double keys_of(const SeenKeys& seen) { return static_cast<double>(seen.last - seen.first); }

/// Running sums over the tokens 0..i, so that a sum over the earlier partners of a token costs
/// nothing: of g = 1 / length, of g / n and of g last / n.
class PartnerSums {
 public:
  PartnerSums(const Terms& terms, std::span<const SeenKeys> seen)
      : inverse_(seen.size()),
        plain_(seen.size() + 1),
        by_keys_(seen.size() + 1),
        by_last_(seen.size() + 1) {
    for (size_t i = 0; i < seen.size(); ++i) {
      const double keys = keys_of(seen[i]);
      if (keys > 0) {
        const double length_sq = terms.length_sq(keys);
        if (!(length_sq > 0)) return;
        inverse_[i] = 1 / std::sqrt(length_sq);
        tokens_ += 1;
      }
      const double share = keys > 0 ? inverse_[i] / keys : 0;
      plain_[i + 1] = plain_[i] + inverse_[i];
      by_keys_[i + 1] = by_keys_[i] + share;
      by_last_[i + 1] = by_last_[i] + share * static_cast<double>(seen[i].last);
    }
    valid_ = tokens_ >= 2;
  }

  bool valid() const { return valid_; }
  double pairs() const { return tokens_ * (tokens_ - 1) / 2; }
  double inverse(size_t i) const { return inverse_[i]; }
  // Over the tokens [from, to).
  double plain(size_t from, size_t to) const { return plain_[to] - plain_[from]; }
  double by_keys(size_t from, size_t to) const { return by_keys_[to] - by_keys_[from]; }
  double by_last(size_t from, size_t to) const { return by_last_[to] - by_last_[from]; }

 private:
  std::vector<double> inverse_, plain_, by_keys_, by_last_;
  double tokens_ = 0;
  bool valid_ = false;
};

}  // namespace

double smoothed_cosine(const StepMoments& moments, double lambda, int64_t tokens) {
  const Terms terms(moments, lambda);
  const double common =
      terms.mean_sq + (2 * terms.direct + terms.shared) / static_cast<double>(tokens);
  if (tokens < 2 || !(common + terms.own > 0)) return kNaN;
  return common / (common + terms.own);
}

double smoothed_cosine(const StepMoments& moments, double lambda, std::span<const SeenKeys> seen) {
  const Terms terms(moments, lambda);
  const PartnerSums sums(terms, seen);
  if (!sums.valid()) return kNaN;
  double total = 0;
  // First earlier tokens that see a key of k's, and that see k itself.
  size_t overlapping = 0, seeing = 0;
  for (size_t k = 0; k < seen.size(); ++k) {
    if (sums.inverse(k) == 0) continue;
    const auto first = static_cast<size_t>(seen[k].first);
    while (overlapping < k && seen[overlapping].last <= seen[k].first) ++overlapping;
    while (seeing < k && seen[seeing].last <= static_cast<int64_t>(k)) ++seeing;
    const double keys = keys_of(seen[k]);
    const double common = sums.by_last(overlapping, k) -
                          static_cast<double>(seen[k].first) * sums.by_keys(overlapping, k);
    total += sums.inverse(k) *
             (terms.mean_sq * sums.plain(0, k) + terms.direct * sums.plain(first, k) / keys +
              terms.direct * sums.by_keys(seeing, k) + terms.shared * common / keys);
  }
  return total / sums.pairs();
}

double smoothing_scalar(const StepMoments& moments) { return 2 * moments.cross + moments.update; }

double smoothing_peak(const StepMoments& moments) {
  if (!(moments.update > 0)) return kNaN;
  return std::clamp(1 + moments.cross / moments.update, 0.0, 1.0);
}

}  // namespace sinkscope::theory
