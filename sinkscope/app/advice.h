#pragma once

#include <span>
#include <vector>

#include "sinkscope/app/measurements/measurement.h"
#include "sinkscope/forward/runner.h"
#include "sinkscope/stats/advice_values.h"

namespace sinkscope::app {

/// Of a run of `sequences`, those on which advice is tried: every sixteenth, at least one, at most
/// four, spread over the run.
bool advice_is_tried(int64_t sequence, int64_t sequences);

/// Tries what `recommend` rests on: each edit as a fork of its sequence, all in one pass.
/// `streams`, `records`: what was run and measured, with classes and sinks, by stream of the
/// context. In the order of `tried`, which are streams.
std::vector<stats::AdviceValues> measure_advice(forward::Runner& runner,
                                                const MeasurementContext& context,
                                                std::span<const forward::Stream> streams,
                                                std::span<const diagnostics::Record> records,
                                                std::span<const size_t> tried);

}  // namespace sinkscope::app
