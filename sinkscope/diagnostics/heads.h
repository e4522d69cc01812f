#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sinkscope/base/error.h"
#include "sinkscope/diagnostics/diagnostic.h"

namespace sinkscope::diagnostics {

/// Creates the metrics as "no data", so that a measured layer without data differs from one that
/// was left out.
inline void create_metrics(std::span<const MetricInfo> metrics, int layer, Record& record) {
  for (const MetricInfo& metric : metrics) record.values(metric, layer);
}

/// Calls visit(h, head) for every head of the layer.
template <class Visit>
void for_each_head(const LayerInput& input, const Record& record, Visit visit) {
  if (input.heads.size() > static_cast<size_t>(record.heads())) {
    throw Error(ErrorKind::kInternal, "measure layer " + std::to_string(input.layer),
                std::to_string(input.heads.size()) + " heads for a record of " +
                    std::to_string(record.heads()));
  }
  for (size_t h = 0; h < input.heads.size(); ++h) visit(h, input.heads[h]);
}

/// The value of a head metric that a row above has written; kNoData without one.
inline double head_value(const Record& record, std::string_view metric, int layer, size_t head) {
  const std::span<const double> values = record.find(metric, layer);
  return head < values.size() ? values[head] : kNoData;
}

/// The entries of one head in a head metric, [width].
inline std::span<double> head_entries(const MetricInfo& metric, int layer, size_t head,
                                      Record& record) {
  const auto width = static_cast<size_t>(metric.width);
  return record.values(metric, layer).subspan(head * width, width);
}

}  // namespace sinkscope::diagnostics
