#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sinkscope/theory/min_norm_point.h"

namespace sinkscope::theory {

/// Attention of a key whose logit leads each of `others` keys by at least `margin`:
/// A >= 1 / (1 + others e^-margin), equal where they all trail by exactly that (method.md
/// section 7).
double attention_from_margin(double margin, double others);

/// Softmax, the largest logit subtracted.
std::vector<double> softmax(std::span<const double> logits);

/// What one head's values v_0, the sink's, v_1 .. v_T say about outputs near zero (Theorem C of
/// method.md section 10). Distances are proved lower bounds; 0: the premise does not hold.
struct SwitchPremises {
  double half_space = 0;   ///< gV = dist(0, conv{v_1..v_T})
  double sink_along = 0;   ///< w.v_0, w the unit normal of that half-space; NaN where gV = 0
  double independent = 0;  ///< sigma_min of v_1..v_T as rows; 0 where they are dependent
  double all_apart = 0;    ///< dist(0, conv{v_0..v_T})
  double sink_norm = 0, longest = 0;  ///< |v_0|, max_{j>0} |v_j|
  /// Weights over v_1..v_T and over v_0..v_T of the shortest mixture: attention at which the bounds
  /// are attained.
  std::vector<double> shortest, shortest_all;
};

/// `values` holds at least two rows. Time as min_norm_point and T^2 width.
SwitchPremises switch_premises(const PointSet& values);

/// One query: ctx = sum_j A_j v_j, as method.md section 10 measures it.
struct SwitchOutput {
  double norm = 0;         ///< |ctx|
  double sink = 0;         ///< A_0
  double rest = 0;         ///< sum_{j>0} A_j: 1 - A_0 would cancel
  double uncancelled = 0;  ///< sum_j A_j |v_j|
  double off = 0;          ///< |ctx| / mean_{j>0} |v_j|; NaN where these are all 0
};
SwitchOutput switch_output(const PointSet& values, std::span<const double> attention);

/// The four statements about |ctx|, each with the side that must not be the larger. NaN where its
/// premise does not hold.
struct SwitchBounds {
  double half_space;  ///< gV (1 - A_0), where gV > 0 and w.v_0 >= 0
  double
      independent;   ///< sigma_min (1 - A_0) / sqrt(T), where v_0 = 0 and v_1..v_T are independent
  double all_apart;  ///< dist(0, conv{v_0..v_T}), where an open half-space holds all values
  double upper;      ///< A_0 |v_0| + (1 - A_0) max_{j>0} |v_j|, always
};
SwitchBounds switch_bounds(const SwitchPremises& premises, int64_t others,
                           const SwitchOutput& output);

}  // namespace sinkscope::theory
