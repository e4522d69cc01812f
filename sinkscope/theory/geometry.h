#pragma once

#include <cstdint>
#include <vector>

#include "sinkscope/theory/min_norm_point.h"

namespace sinkscope::theory {

/// Whether one W can make every context token prefer token 0 to all the others that it sees, and
/// what proves it.
struct SinkCertificate {
  MinNormPoint queries;  ///< of z_1 .. z_T: condition H2, distance g_Z
  MinNormPoint leads;    ///< of z_0 - z_1 .. z_0 - z_T: condition H1, distance g_D

  bool representable() const {
    return queries.verdict == HullVerdict::kApart && leads.verdict == HullVerdict::kApart;
  }
  bool undecided() const {
    return queries.verdict == HullVerdict::kUndecided || leads.verdict == HullVerdict::kUndecided;
  }

  /// Where representable: W = u v^T has z_i^T W (z_0 - z_j) >= 1 for every i, j >= 1, and no W of
  /// smaller Schatten norm has (method.md section 8, Theorem B).
  std::vector<double> u, v;
  /// The least z_i^T W (z_0 - z_j) over j <= i, from the tokens alone: every product is formed
  /// anew. At least 1 but for rounding; NaN where not representable.
  double checked = 0;
};

/// Half-space conditions of tokens z_0 .. z_T (method.md section 7, Theorem A: together they are
/// necessary and sufficient, causal mask or not). Time O(T^2 + T width) a step of the solver.
/// Throws kUsage for fewer than two tokens, kBadNumbers where one is not finite.
SinkCertificate sink_certificate(const PointSet& tokens, const MinNormOptions& options = {});

/// cos(z_0, z_i), the largest over i >= 1, and how many z_i equal z_0. Zero tokens have cosine 0.
struct SinkCosine {
  double largest = 0;
  int64_t duplicates = 0;
};
SinkCosine sink_cosine(const PointSet& tokens);

/// Probability that T random tokens with a sign-symmetric density lie in an open half-space of R^d:
/// 2^-(T-1) sum_{k<d} C(T-1, k) (Wendel, Math. Scand. 11, 1962). T, d >= 1.
double wendel_probability(int64_t width, int64_t tokens);

/// Margin that gives a key attention 1 - epsilon among `others` keys that it leads by that margin:
/// log(others (1 - epsilon) / epsilon).
double margin_needed(double others, double epsilon);

}  // namespace sinkscope::theory
