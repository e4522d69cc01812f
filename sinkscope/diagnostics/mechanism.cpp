#include "sinkscope/diagnostics/mechanism.h"

#include <cmath>

#include "sinkscope/diagnostics/heads.h"
#include "sinkscope/diagnostics/table.h"

namespace sinkscope::diagnostics {

namespace {

constexpr double kNear = 1e-3;

// clang-format off
constexpr MetricInfo kClass{"class", Scope::kHead, 1, Aggregate::kMode, "",
    "0 none, 1 nop (ratio_out <= nop_ratio), 2 broadcast (ratio_out >= broadcast_ratio and stable_rank "
    "<= broadcast_stable_rank), 3 other event, 4 too short"};
constexpr MetricInfo kNearThreshold{"near_threshold", Scope::kHead, 1, Aggregate::kSum, "sequences",
    "1 when routed, or ratio_out or stable_rank of an event, is within 1e-3 of its threshold"};
// clang-format on

constexpr MetricInfo kMetrics[] = {kClass, kNearThreshold};

void measure(const LayerInput& input, const Thresholds& thresholds, Record& record) {
  create_metrics(kMetrics, input.layer, record);
  for_each_head(input, record, [&](size_t h, const stats::HeadValues&) {
    const auto read = [&](std::string_view metric) {
      return head_value(record, metric, input.layer, h);
    };
    const double too_short = read("too_short");
    if (std::isnan(too_short)) return;
    const ClassInput head{.too_short = too_short == 1,
                          .event = read("event") == 1,
                          .routed = read("routed"),
                          .ratio_out = read("ratio_out"),
                          .degenerate = read("degenerate") == 1,
                          .stable_rank = read("stable_rank")};
    if (head.event && std::isnan(head.ratio_out)) return;
    record.values(kClass, input.layer)[h] = static_cast<double>(classify(head, thresholds));
    record.values(kNearThreshold, input.layer)[h] = near_threshold(head, thresholds);
  });
}

}  // namespace

HeadClass classify(const ClassInput& head, const Thresholds& thresholds) {
  if (head.too_short) return HeadClass::kTooShort;
  if (!head.event) return HeadClass::kNone;
  if (head.degenerate) return HeadClass::kOther;
  // A ratio this low is a no-op whatever the rank, also when the update is zero and has none.
  if (head.ratio_out <= thresholds.nop_ratio) return HeadClass::kNop;
  if (head.ratio_out >= thresholds.broadcast_ratio &&
      head.stable_rank <= thresholds.broadcast_stable_rank) {
    return HeadClass::kBroadcast;
  }
  return HeadClass::kOther;
}

bool near_threshold(const ClassInput& head, const Thresholds& thresholds) {
  const auto near = [](double value, double threshold) {
    return std::abs(value - threshold) <= kNear;
  };
  if (near(head.routed, thresholds.event_query_share)) return true;
  return head.event && (near(head.ratio_out, thresholds.nop_ratio) ||
                        near(head.ratio_out, thresholds.broadcast_ratio) ||
                        near(head.stable_rank, thresholds.broadcast_stable_rank));
}

Diagnostic mechanism_diagnostic() { return {"mechanism", true, kMetrics, {}, measure, nullptr}; }

}  // namespace sinkscope::diagnostics
