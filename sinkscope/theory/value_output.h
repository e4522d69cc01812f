#pragma once

#include <cstdint>
#include <vector>

#include "sinkscope/theory/min_norm_point.h"

namespace sinkscope::theory {

/// Least nuclear norm of W_VO with W_VO z_s = y_s at every source s that some query copies from
/// (method.md section 8, "Task cost"; y_s = z_s here, a copy). `silent_sink`: W_VO z_0 = 0 besides,
/// as a hard switch wants: the sources are then taken off z_0 first. W_VO = Y pinv(Z), which has
/// the least of every unitarily invariant norm; Y maps sources that z_0 does not reach.
///
/// Infinite where the demands contradict each other: sources linearly dependent on z_0.
/// `source` [T + 1], Pattern::kFree for queries that copy nothing. 0 without sources.
double value_output_cost(const PointSet& tokens, const std::vector<int64_t>& source,
                         bool silent_sink);

}  // namespace sinkscope::theory
