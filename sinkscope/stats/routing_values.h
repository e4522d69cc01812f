#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "sinkscope/stats/values.h"

namespace sinkscope::stats {

// Thresholds of method.md section 10.
inline constexpr double kDormant = 0.1;  ///< tau: a query with off_i up to this is dormant
inline constexpr std::array<double, 3> kSwitchEpsilons = {0.1, 0.3, 0.5};
inline constexpr size_t kExplaining = 1;  ///< the epsilon by which dormant queries are explained
inline constexpr double kCancelledRho = 0.5;  ///< rho_i up to this: the values cancel
/// Upper ends of the bins of off_i but the last, which is open; rho_i has ten equal bins of [0, 1].
inline constexpr std::array<double, 6> kOffEdges = {0.01, 0.03, 0.1, 0.3, 1, 3};

/// Queries by output (off: dormant; on: not) and by whether A_is >= 1 - epsilon.
struct SwitchTable {
  int64_t off_sink = 0, off_else = 0, on_sink = 0, on_else = 0;
};

/// The first reason that holds for a dormant query, in this order.
struct DormantReasons {
  int64_t sink = 0;    ///< A_is >= 1 - epsilon
  int64_t self = 0;    ///< A_ii >= 1 - epsilon and ||v_i|| <= tau mean ||v_j||
  int64_t cancel = 0;  ///< rho_i <= 0.5
  int64_t small = 0;   ///< the values attended to are small
};

/// Over the queries that see the dominant key s and another key. off_i = ||ctx_i|| / mean_{j != s}
/// ||v_j||, rho_i = ||ctx_i|| / sum_j A_ij ||v_j||. All zero where every value is zero.
struct SwitchCounts {
  int64_t queries = 0, dormant = 0;
  std::array<SwitchTable, kSwitchEpsilons.size()> tables;  ///< by epsilon
  DormantReasons reasons;
  int64_t soft = 0;  ///< dormant, or A_ii >= 1 - epsilon
  std::array<int64_t, kOffEdges.size() + 1> off_bins = {};
  std::array<int64_t, 10> rho_bins = {};
};

/// The values v_j, j != s, of the head's group.
struct ValueSet {
  int64_t count = 0;
  int64_t rank = 0;  ///< singular values above 1e-3 of the largest
  double stable_rank = std::numeric_limits<double>::quiet_NaN();
  /// gV: a half-space w.v >= gV |w| holds every value, proved in float64; 0: none does. NaN without
  /// a value or where the solver did not decide.
  double margin = std::numeric_limits<double>::quiet_NaN();
  bool sink_inside = false;  ///< w.v_s >= 0, or s has no value
  double scale = 0;          ///< length of the longest value
};

/// Sums over the queries i != s that see more than one key (method.md section 11).
struct MixingSums {
  int64_t queries = 0;
  double to_self = 0, to_sink = 0;  ///< of A_ii, A_is
  double out = 0;                   ///< of ||o_i||
  double out_sq = 0;                ///< of ||o_i||^2
  double self_sq = 0;               ///< of ||u_i||^2
  double rest_sq = 0;               ///< of ||o_i - A_ii u_i - A_is u_s||^2
  double rest_payload_sq = 0;       ///< of ||o_i - A_ii u_i||^2
};

/// What the queries of one head do with its dominant key.
struct RoutingValues {
  /// Least A_is over the queries that see s.
  double min_to_key = std::numeric_limits<double>::quiet_NaN();
  SwitchCounts counts;
  ValueSet values;
  /// Queries with 1 - A_is > ||ctx_i|| / gV beyond float32's rounding; counted where gV > 0 and the
  /// sink's value lies inside.
  int64_t violations = 0;
  MixingSums mixing;
  /// Of the queries with A_is >= event mass; asked for conditional sinks only, NaN elsewhere.
  double routed_stable_rank = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace sinkscope::stats
