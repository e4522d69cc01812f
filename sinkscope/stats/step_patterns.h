#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

namespace sinkscope::stats {

/// The head vectors of a query, [K] each, of which every pattern's update is a combination.
enum StepPart { kContext, kOwn, kMean, kDominant, kParts };
inline constexpr int64_t kProducts = kParts * (kParts + 1) / 2 + kParts + 1;

/// Attention patterns whose steps are compared: one per lambda, the head's own, the sink alone.
struct StepPatterns {
  at::Tensor parts;  ///< [n, kParts] double: x_i = sum_p parts[p] part_p
  /// [kProducts, n] double: squared length of a step from the inner products of a token (upper
  /// triangle of the parts, step with part, step with itself), and the same from squares alone.
  at::Tensor forms, squares;
  int64_t count = 0;
};

/// `skip`: the step holds the head's own update already, which a pattern's update replaces.
StepPatterns step_patterns(std::span<const double> lambdas, bool skip);

}  // namespace sinkscope::stats
