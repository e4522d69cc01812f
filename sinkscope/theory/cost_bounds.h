#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace sinkscope::theory {

/// Bounds of a least norm; NaN: no bound is known. Infinite where no W makes the pattern.
struct Bracket {
  double lower = std::numeric_limits<double>::quiet_NaN();
  double upper = std::numeric_limits<double>::quiet_NaN();
};

/// What the least cost of a sink at token 0 follows from.
struct SinkGeometry {
  double margin_z = 0;    ///< g_Z = dist(0, conv{z_1..z_T}); 0 where the hull holds 0
  double margin_d = 0;    ///< g_D = dist(0, conv{z_0 - z_1 .. z_0 - z_T})
  double last_query = 0;  ///< |z_T|, the query that every key is compared for
  double first_lead = 0;  ///< |z_0 - z_1|, the comparison that every query makes
  bool causal = true;     ///< query i is compared at keys 1..i; otherwise at all
};

/// Least norm of W with z_i^T W (z_0 - z_j) >= 1 at all allowed pairs, the same in every Schatten
/// norm. All keys: 1 / (g_Z g_D) (method.md section 8, Theorem B), both bounds. Causal: at most
/// that; at least 1 / (|z_T| g_D) and 1 / (g_Z |z_0 - z_1|), from the pairs of the last query and
/// those of the first key [derived: Theorem B for one token on one side].
Bracket sink_cost(const SinkGeometry& geometry);

/// Least norms of W with z_i^T W (z_i - z_j) >= 1 for every token i >= 1 and the others j that it
/// may see.
struct DiagonalCost {
  Bracket nuclear, frobenius;
};

/// From the Gram matrix z_i.z_j of tokens 0..T, row-major [tokens, tokens], tokens = T + 1, and the
/// rank of z_1..z_T (a larger number only weakens the upper bound). Weights P >= 0 on the pairs
/// prove cost >= sum P / |M|, M = sum P_ij z_i (z_i - z_j)^T, the operator norm for the nuclear
/// cost and the Frobenius norm for the Frobenius cost (method.md section 8). Lower bounds are the
/// best of
///
///   P_ij = 1 / (i + 1), j < i       near the truth for tokens without a common part
///   P_ij = 1 / 8, i - 8 <= j < i    the common part of the tokens cancels but at the ends [ours]
///   P_ij = 1, i, j >= 1             all keys only: 1 / |S|, S the unbiased covariance ("General")
///
/// and the upper ones are rank / m and sqrt(rank) / m by W = projector / m, where
/// m = min z_i.(z_i - z_j) over the pairs is positive.
///
/// Operator norms are iterated to about 1e-7. Tokens that are all alike within the rounding of
/// float32: infinite. Fewer than two
/// tokens: NaN. Time tokens^2 a step, some tens of steps.
DiagonalCost diagonal_cost(std::span<const double> gram, int64_t tokens, bool causal, int64_t rank);

}  // namespace sinkscope::theory
