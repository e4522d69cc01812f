#pragma once

#include "sinkscope/diagnostics/diagnostic.h"

namespace sinkscope::diagnostics {

/// The three metrics of a head's update, in the order stable rank, common mode, energy.
using UpdateMetrics = std::span<const MetricInfo, 3>;
/// Those of the diagnostic `update`, which holds them where the event rule does.
UpdateMetrics update_metrics();

void write_update(const stats::UpdateValues& update, UpdateMetrics metrics, int layer, size_t head,
                  Record& record);

}  // namespace sinkscope::diagnostics
