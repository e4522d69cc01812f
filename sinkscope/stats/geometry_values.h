#pragma once

#include <cstdint>
#include <limits>

#include "sinkscope/theory/cost_bounds.h"

namespace sinkscope::stats {

/// Whether the points of a convex hull lie in an open half-space (method.md section 7).
struct HullValues {
  /// 1: they do; 0: 0 is a convex combination of them; NaN: no points, or undecided.
  double holds = std::numeric_limits<double>::quiet_NaN();
  double margin = std::numeric_limits<double>::quiet_NaN();  ///< distance to 0; NaN as above
  /// (|w| - min_i w.a_i / |w|) / |w| of the certificate; NaN without points.
  double gap = std::numeric_limits<double>::quiet_NaN();
};

/// The two half-space conditions of one layer or head over one sequence. With sink s and query
/// rows q, key rows k (of a layer both are z):
struct GeometryValues {
  HullValues queries;      ///< H2: q_i of the queries i != s that see s
  HullValues leads;        ///< H1: k_s - k_j of the keys j != s that those queries see
  int64_t used = 0;        ///< queries that enter
  int64_t available = 0;   ///< queries there are; more than `used`: a seeded choice entered
  int64_t duplicates = 0;  ///< keys j with k_j = k_s, chosen or not
  /// Of a layer: least norms of W for margin 1 in z_i^T W z_j, of the tokens that enter.
  theory::Bracket sink_cost;
  theory::DiagonalCost diagonal_cost;
  int64_t diagonal_tokens = 0;  ///< tokens of `diagonal_cost`, token 0 included
};

}  // namespace sinkscope::stats
