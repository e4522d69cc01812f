#include <algorithm>
#include <cmath>

#include "sinkscope/diagnostics/heads.h"
#include "sinkscope/diagnostics/sink.h"
#include "sinkscope/diagnostics/table.h"

namespace sinkscope::diagnostics {

namespace {

// clang-format off
constexpr MetricInfo kSinkType{"sink_type", Scope::kHead, 1, Aggregate::kMode, "",
    "type of the dominant key where the event rule holds: 0 BOS, 1 first token, 2 first token repeated, 3 first "
    "delimiter, 4 delimiter, 5 newline, 6 CLS, 7 SEP, 8 register, 9 patch, 10 other, 11 sink logit"};
constexpr MetricInfo kTypeEvents{"type_events", Scope::kLayer, kTokenTypes, Aggregate::kSum, "heads",
    "number of heads whose event falls on a token of each type, in the order of sink_type"};
// clang-format on

constexpr MetricInfo kMetrics[] = {kSinkType, kTypeEvents};
constexpr Part kNeeds[] = {Part::kTypes};

void measure(const LayerInput& input, const Thresholds&, Record& record) {
  create_metrics(kMetrics, input.layer, record);
  if (input.types.empty()) return;
  const std::span<double> events = record.values(kTypeEvents, input.layer);
  for_each_head(input, record, [&](size_t h, const stats::HeadValues&) {
    const double event = head_value(record, "event", input.layer, h);
    if (std::isnan(event)) return;
    if (std::isnan(events[0])) std::fill(events.begin(), events.end(), 0.0);
    if (event == 0) return;
    const auto key = static_cast<int64_t>(head_value(record, "sink_index", input.layer, h));
    const TokenType type =
        key == kSinkLogitKey ? TokenType::kSinkLogit : input.types[static_cast<size_t>(key)];
    record.values(kSinkType, input.layer)[h] = static_cast<double>(type);
    events[static_cast<size_t>(type)] += 1;
  });
}

}  // namespace

Diagnostic types_diagnostic() { return {"types", false, kMetrics, kNeeds, measure, nullptr}; }

}  // namespace sinkscope::diagnostics
