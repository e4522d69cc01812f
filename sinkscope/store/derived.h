#pragma once

#include <string_view>
#include <vector>

#include "sinkscope/store/aggregate.h"
#include "sinkscope/store/run_result.h"

namespace sinkscope::store {

// Values of the run that no rule over single sequences gives. Each group is there where the
// diagnostic was chosen whose page defines it; shapes are those of RunResult.

/// docs/diagnostics/types.md. `events` and `types`: the metrics event and sink_type.
void add_specialisation(RunResult& run, const SequenceValues& events, const SequenceValues& types);

/// docs/diagnostics/circuit.md. Throws kBadFile for run sums that do not fit the model.
void add_circuit(RunResult& run);

/// docs/diagnostics/range.md.
void add_range(RunResult& run);

/// Whether the run has the metric in the form that its diagnostic gives it.
bool has_metric(const RunResult& run, std::string_view name, diagnostics::Scope scope, int width);
/// A derived metric with its values and counts, [layer][entry].
void add_derived(RunResult& run, StoredMetric metric, Aggregated values);
/// The same for one value of the whole run; the metric's scope becomes kSequence.
void add_derived(RunResult& run, StoredMetric metric, double value);
/// No data, with counts of 0: `width` entries for each that the metric `like` has, in its layers.
Aggregated no_values(const RunResult& run, std::string_view like, size_t width);

}  // namespace sinkscope::store
