#include <cmath>

#include "sinkscope/diagnostics/heads.h"
#include "sinkscope/diagnostics/mechanism.h"
#include "sinkscope/diagnostics/table.h"
#include "sinkscope/stats/routing_values.h"

namespace sinkscope::diagnostics {

namespace {

// clang-format off
constexpr MetricInfo kMin{"min_to_sink", Scope::kHead, 1, Aggregate::kMean, "share",
    "min_a = min_i A_is over the queries that see the dominant key s; an epsilon-sink in the strict sense has "
    "min_a >= 1 - epsilon"};
constexpr MetricInfo kStableRank{"stable_rank_routed", Scope::kHead, 1, Aggregate::kMean, "",
    "stable_rank of the rows o_i of the routed queries, A_is >= event_mass, of a conditional sink"};
constexpr MetricInfo kClass{"class_conditional", Scope::kHead, 1, Aggregate::kMode, "",
    "class of a conditional sink by its routed queries: 1 nop, 2 broadcast, 3 other, by the rules of class"};
// clang-format on

constexpr MetricInfo kMetrics[] = {kMin, kStableRank, kClass};

constexpr Part kNeeds[] = {Part::kValues, Part::kRouting};

void measure(const LayerInput& input, const Thresholds& thresholds, Record& record) {
  create_metrics(kMetrics, input.layer, record);
  for_each_head(input, record, [&](size_t h, const stats::HeadValues& head) {
    const auto read = [&](std::string_view metric) {
      return head_value(record, metric, input.layer, h);
    };
    if (!head.routing || read("too_short") != 0) return;
    record.values(kMin, input.layer)[h] = head.routing->min_to_key;
    const double ratio = read("ratio_out");
    if (read("conditional") != 1 || std::isnan(ratio)) return;
    // Every routed query gives the sink its event mass: among them the event rule holds.
    const ClassInput routed{.event = true,
                            .routed = 1,
                            .ratio_out = ratio,
                            .degenerate = read("degenerate") == 1,
                            .stable_rank = head.routing->routed_stable_rank};
    record.values(kStableRank, input.layer)[h] = routed.stable_rank;
    record.values(kClass, input.layer)[h] = static_cast<double>(classify(routed, thresholds));
  });
}

}  // namespace

Diagnostic conditional_diagnostic() {
  return {"conditional", false, kMetrics, kNeeds, measure, nullptr};
}

}  // namespace sinkscope::diagnostics
