#pragma once

#include "sinkscope/diagnostics/diagnostic.h"

namespace sinkscope::diagnostics {

/// What one head in one sequence is classified by; NaN where a number does not exist.
struct ClassInput {
  bool too_short = false;
  bool event = false;
  double routed = kNoData;
  double ratio_out = kNoData;
  bool degenerate = false;
  double stable_rank = kNoData;
};

/// Preset "causal" of method.md section 4, in its order. `ratio_out` must be a number for an event.
HeadClass classify(const ClassInput& head, const Thresholds& thresholds);

/// True when `routed`, or for an event a ratio or rank, lies within 1e-3 of its threshold.
bool near_threshold(const ClassInput& head, const Thresholds& thresholds);

}  // namespace sinkscope::diagnostics
