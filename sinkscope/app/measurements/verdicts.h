#pragma once

#include <span>
#include <vector>

#include "sinkscope/diagnostics/diagnostic.h"
#include "sinkscope/diagnostics/sink.h"
#include "sinkscope/forward/observer.h"
#include "sinkscope/theory/smoothing.h"

// What measurements that depend on the dominant key of a head have in common.

namespace sinkscope::app {

/// Verdict of every head; of heads left out, too short to judge.
std::vector<diagnostics::SinkVerdict> judge_heads(const diagnostics::LayerInput& input,
                                                  const diagnostics::Thresholds& thresholds);

/// Dominant key of every head, in the terms of stats/dominant_key.h. Position 0 where the input is
/// too short to judge a key.
std::vector<int64_t> dominant_keys(const diagnostics::LayerInput& input,
                                   std::span<const diagnostics::SinkVerdict> verdicts);

/// Keys of every query of a stream, [T].
std::vector<theory::SeenKeys> seen_keys(const forward::LayerState& state, int64_t stream);

}  // namespace sinkscope::app
