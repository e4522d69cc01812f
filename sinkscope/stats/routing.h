#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <span>
#include <vector>

#include "sinkscope/stats/dominant_key.h"
#include "sinkscope/stats/routing_values.h"
#include "sinkscope/theory/smoothing.h"

namespace sinkscope::stats {

/// One stream at one layer, T tokens. The update is the ungated one.
struct RoutingInput {
  at::Tensor context;                        ///< [T, H, K] pattern times values
  at::Tensor v;                              ///< [T, G, K]
  at::Tensor gram;                           ///< [H, K, K] W_O^hT W_O^h
  std::span<const theory::SeenKeys> seen;    ///< [T]
  std::span<const int64_t> dominant;         ///< [H] position, or one of dominant_key.h
  std::span<const ValueNorms* const> norms;  ///< [H]; null where a head is left out
  std::vector<bool> conditional;             ///< [H] measure the routed queries by themselves
  double event_mass = 0.5;
  /// Rows [first, first + count) of the attention, [H, count, T].
  std::function<at::Tensor(int64_t first, int64_t count)> pattern;
};

/// A second visit to the rows of the attention, once the dominant key s of each head is known
/// (method.md sections 10 and 11). A learned sink logit takes A_is = 1 - sum_j A_ij. The bound of
/// Theorem C takes the half-space of theory/min_norm_point.h once per group and key. Memory is a
/// block of rows of some megabytes and O(T K). Entries of heads left out keep their defaults.
std::vector<RoutingValues> routing(const RoutingInput& input);

}  // namespace sinkscope::stats
