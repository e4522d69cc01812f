#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sinkscope/diagnostics/diagnostic.h"
#include "sinkscope/store/store.h"

namespace sinkscope::store {

/// The run as reports see it: identity and facts as parsed JSON text, aggregated values per metric.
/// Aggregation follows each metric's rule over the sequences with data; NaN: no data.
struct RunResult {
  Facts identity;
  Facts facts;
  std::vector<StoredMetric> metrics;
  int layers = 0, heads = 0, kv_heads = 0;
  std::vector<SequenceInfo> sequences;

  /// metric -> [layer][head * width + i] (kHead), [layer][i] (kLayer), [0][i] (kSequence); the row
  /// of a layer without data is empty
  std::map<std::string, std::vector<std::vector<double>>, std::less<>> value;
  /// how many sequences had data, same shape
  std::map<std::string, std::vector<std::vector<int64_t>>, std::less<>> count;
  std::vector<Curve> curves;
  std::vector<RunSum> sums;

  /// True when any head (or layer) metric has data there.
  bool measured(int layer) const;
  bool measured(int layer, int head) const;
  /// Names of the metrics of one scope: as stored, then those that read_run derives.
  std::vector<StoredMetric> metrics_of(diagnostics::Scope scope) const;

  /// The published Sink_0^eps over the measured layers first..last, a share; NaN without data.
  double sink_rate(int first_layer, int last_layer) const;
  /// First layer whose own sink rate exceeds half of the largest (method.md section 13); -1 when
  /// no layer reaches 0.05.
  int formation_layer() const;

  /// NaN when absent.
  double head(std::string_view metric, int layer, int head, int i = 0) const;
  double layer(std::string_view metric, int layer, int i = 0) const;
  double sequence(std::string_view metric, int i = 0) const;
};

/// Beyond the metrics' own rules:
///  - ratio_head, ratio_out, stable_rank, common_mode are means over the sequences where `event`
///    holds; ratio_out_all is the mean of ratio_out over all of them;
///  - class is the majority over the events (ties: lowest code), kNone without one, kTooShort when
///    every sequence was; class_counts are the numbers of events classed nop, broadcast, other;
///  - sink_index_share is the share of the most frequent sink_index;
///  - top_activations keeps, of all (channel, position) places, the three with the largest sum of
///    |value|, each with the mean of its values;
///  - of the diagnostics types, circuit and range, what their pages call derived (derived.h).
RunResult read_run(const Store& store);

}  // namespace sinkscope::store
