#pragma once

#include <cstdint>
#include <span>

namespace sinkscope::theory {

/// First two moments of the tokens of one attention step (method.md section 9): r is what the skip
/// connection carries, u what a token's value adds. The step with attention between identity
/// (lambda = 0) and uniform (lambda = 1) is
///
///   y_i = r_i + (1 - lambda) u_i + lambda mean_{j in V(i)} u_j
struct StepMoments {
  double skip = 0;     ///< R, trace of the covariance of r
  double cross = 0;    ///< C, trace of the covariance of r and u
  double update = 0;   ///< E, trace of the covariance of u
  double mean_sq = 0;  ///< N0 = ||mean r + mean u||^2
};

/// Keys [first, last) that one query sees; empty: the query is in no pair, but stays a key.
struct SeenKeys {
  int64_t first = 0, last = 0;
};

/// Expected cosine of two tokens (the ratio of expectations; tokens independent with the given
/// moments) when each of `tokens` (T) queries sees all of them. No data (NaN) for fewer than two
/// tokens or when every length is zero. Source: arXiv 2605.08453, in the form of method.md
/// section 9.
double smoothed_cosine(const StepMoments& moments, double lambda, int64_t tokens);

/// The same for any visibility, as the mean over the pairs of queries. `seen` [T]: neither end may
/// decrease from query to query, and a query sees itself, as in causal and windowed attention and
/// in packed documents. With n_i = |V(i)| and i < k
///
///   <y_i, y_k> = N0 + a [i in V(k)] / n_k + a [k in V(i)] / n_i + q |V(i) and V(k)| / (n_i n_k)
///   <y_i, y_i> = N0 + D + (2 a + q) / n_i
///
/// D, a, q as in section 9, whose causal form is the case V(i) = {0..i} (derived here: two tokens
/// share a term for each common token of their means). Time O(T).
double smoothed_cosine(const StepMoments& moments, double lambda, std::span<const SeenKeys> seen);

/// s = 2 C + E: with full attention the cosine at lambda = 1 exceeds that at 0 exactly when s > 0.
double smoothing_scalar(const StepMoments& moments);

/// The lambda in [0, 1] at which the cosine is largest: 1 + C / E held to that range; NaN when the
/// update does not vary (E = 0).
double smoothing_peak(const StepMoments& moments);

}  // namespace sinkscope::theory
