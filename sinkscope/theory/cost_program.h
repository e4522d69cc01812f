#pragma once

#include <cstdint>

#include "sinkscope/theory/cost_bounds.h"
#include "sinkscope/theory/min_norm_point.h"
#include "sinkscope/theory/pattern.h"

namespace sinkscope::theory {

struct ProgramOptions {
  double gap = 1e-3;           ///< (upper - lower) / upper at which it stops
  int64_t iterations = 20000;  ///< most steps
  double seconds = 120;        ///< most time; the bounds hold whenever it stops
};

/// The least norm of W with z_i^T W (z_w(i) - z_j) >= 1 at every pair of a pattern.
struct ProgramResult {
  Bracket cost;            ///< certified bounds; both infinite where no W makes the pattern
  double gap = 0;          ///< (upper - lower) / upper; 1 while no feasible W was found
  int64_t iterations = 0;  ///< steps used
  int64_t rank = 0;        ///< singular values above 1e-3 of the largest, of the best W; 0: none
};

/// In the nuclear norm, which is the l2 cost of the factors: min (|W_Q|_F^2 + |W_K|_F^2) / 2 over
/// W_Q^T W_K = W. Alternating directions with the logits as a variable of their own [ours]:
///
///   W <- argmin |W - X + U|^2 + eta |Z W Z^T - L + V|^2    closed form in the eigenbasis of Z^T Z
///   X <- singular values of W + U lowered by 1 / rho
///   L <- nearest logits to Z W Z^T + V whose rows have the margin (a sort per row)
///
/// so that no system over the pairs is solved: a step costs O(r^3 + T r^2 + T^2 r), r the rank of
/// the tokens, against pairs^2 of method.md section 8. The bounds are that section's: every few
/// steps |Y|_* / least margin of Y for Y in {X, W} from above, and sum P / |M(P)|_op with P >= 0
/// from V from below; they hold however the steps went.
///
/// Throws kUsage where pattern and tokens disagree in number, kBadNumbers for tokens not finite.
ProgramResult nuclear_cost(const PointSet& tokens, const Pattern& pattern,
                           const ProgramOptions& options = {});

/// In the Frobenius norm: the same steps with the norm's own shrinkage.
ProgramResult frobenius_cost(const PointSet& tokens, const Pattern& pattern,
                             const ProgramOptions& options = {});

/// The Frobenius program exactly, as a hard-margin separation: 1 / distance of the hull of all
/// z_i (z_w(i) - z_j)^T from 0. Memory pairs x width^2: for small sets. A hull that holds 0 proves
/// that there is no W at all (Gordan).
MinNormPoint pair_hull(const PointSet& tokens, const Pattern& pattern,
                       const MinNormOptions& options = {});

}  // namespace sinkscope::theory
