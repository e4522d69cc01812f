#include <algorithm>
#include <cmath>

#include "sinkscope/diagnostics/heads.h"
#include "sinkscope/diagnostics/table.h"
#include "sinkscope/stats/routing_values.h"

namespace sinkscope::diagnostics {

namespace {

using stats::RoutingValues;
using stats::SwitchCounts;
using stats::SwitchTable;

// method.md section 10: fewest dormant queries of a verdict (--min-dormant), and its two shares.
constexpr int64_t kMinDormant = 100;
constexpr double kEquivalentShare = 0.95;
constexpr double kMostlyShare = 0.5;
constexpr int kEpsilons = static_cast<int>(stats::kSwitchEpsilons.size());

// clang-format off
constexpr MetricInfo kQueries{"switch_queries", Scope::kHead, 1, Aggregate::kSum, "queries",
    "queries that see the dominant key s and another key: the ones judged here"};
constexpr MetricInfo kDormant{"switch_dormant", Scope::kHead, 1, Aggregate::kMean, "share",
    "share of them with off_i = ||ctx_i|| / mean_{j != s} ||v_j|| <= 0.1: dormant queries"};
constexpr MetricInfo kTable{"switch_table", Scope::kHead, 4 * kEpsilons, Aggregate::kSum, "queries",
    "for epsilon = 0.1, 0.3, 0.5 the queries that are dormant with A_is >= 1 - epsilon, dormant without, "
    "not dormant with, not dormant without"};
constexpr MetricInfo kSinkGivenOff{"switch_sink_given_off", Scope::kHead, kEpsilons, Aggregate::kMean, "share",
    "share of the dormant queries with A_is >= 1 - epsilon, epsilon = 0.1, 0.3, 0.5"};
constexpr MetricInfo kOffGivenSink{"switch_off_given_sink", Scope::kHead, kEpsilons, Aggregate::kMean, "share",
    "share of the queries with A_is >= 1 - epsilon that are dormant, epsilon = 0.1, 0.3, 0.5"};
constexpr MetricInfo kPhi{"switch_phi", Scope::kHead, kEpsilons, Aggregate::kMean, "",
    "phi coefficient of the table of each epsilon: correlation of dormant with A_is >= 1 - epsilon"};
constexpr MetricInfo kReasons{"switch_reasons", Scope::kHead, 4, Aggregate::kSum, "queries",
    "dormant queries by the first reason that holds: A_is >= 0.7; A_ii >= 0.7 and ||v_i|| <= 0.1 mean ||v_j||; "
    "cancellation, ||ctx_i|| <= 0.5 sum_j A_ij ||v_j||; small values"};
constexpr MetricInfo kSoft{"switch_soft", Scope::kHead, 1, Aggregate::kMean, "share",
    "share of the queries that are dormant or give themselves A_ii >= 0.7"};
constexpr MetricInfo kOffBins{"switch_off_bins", Scope::kHead, 7, Aggregate::kSum, "queries",
    "queries by off_i, bins ending at 0.01, 0.03, 0.1, 0.3, 1, 3, infinity"};
constexpr MetricInfo kRhoBins{"switch_rho_bins", Scope::kHead, 10, Aggregate::kSum, "queries",
    "queries by rho_i = ||ctx_i|| / sum_j A_ij ||v_j||, ten equal bins of [0, 1]; 1: nothing cancels"};
constexpr MetricInfo kMargin{"switch_margin", Scope::kHead, 1, Aggregate::kMean, "",
    "gV = dist(0, conv{v_j : j != s}), the proved margin of a half-space that holds these values; 0: none does"};
constexpr MetricInfo kHalfSpace{"switch_half_space", Scope::kHead, 1, Aggregate::kMean, "share",
    "1 when gV > 0"};
constexpr MetricInfo kPremise{"switch_premise", Scope::kHead, 1, Aggregate::kMean, "share",
    "1 when gV > 0 and w.v_s >= 0 for its normal w: ||ctx_i|| >= gV (1 - A_is) then holds"};
constexpr MetricInfo kViolations{"switch_violations", Scope::kHead, 1, Aggregate::kSum, "queries",
    "queries that break 1 - A_is <= ||ctx_i|| / gV by more than rounding, where the premise holds: 0"};
constexpr MetricInfo kRank{"values_rank", Scope::kHead, 1, Aggregate::kMean, "",
    "number of singular values above 1e-3 of the largest of the values v_j, j != s"};
constexpr MetricInfo kStableRank{"values_stable_rank", Scope::kHead, 1, Aggregate::kMean, "",
    "||V||_F^2 / ||V||_op^2 of the values v_j, j != s"};
constexpr MetricInfo kFullRank{"values_full_rank", Scope::kHead, 1, Aggregate::kMean, "share",
    "1 when the values v_j, j != s, are linearly independent: values_rank is their number"};
constexpr MetricInfo kVerdict{"switch_verdict", Scope::kHead, 1, Aggregate::kMode, "",
    "of at least 100 dormant queries: 1 equivalent (P(A_is >= 0.7 | dormant) >= 0.95, no violation), 2 sink-mostly "
    "(>= 0.5), otherwise the commonest other reason: 3 self, 4 cancellation, 5 small values"};
constexpr MetricInfo kLayerShare{"switch_layer_sink_given_off", Scope::kLayer, 1, Aggregate::kMean, "share",
    "share of the dormant queries of all heads with A_is >= 0.7"};
constexpr MetricInfo kLayerReasons{"switch_layer_reasons", Scope::kLayer, 4, Aggregate::kSum, "queries",
    "switch_reasons added over the heads"};
constexpr MetricInfo kLayerVerdict{"switch_layer_verdict", Scope::kLayer, 1, Aggregate::kMode, "",
    "switch_verdict of the dormant queries of all heads"};
// clang-format on

constexpr MetricInfo kMetrics[] = {
    kQueries, kDormant,    kTable,    kSinkGivenOff, kOffGivenSink, kPhi,          kReasons,
    kSoft,    kOffBins,    kRhoBins,  kMargin,       kHalfSpace,    kPremise,      kViolations,
    kRank,    kStableRank, kFullRank, kVerdict,      kLayerShare,   kLayerReasons, kLayerVerdict};

/// What a verdict is made of; heads of a layer add up.
struct Dormant {
  int64_t queries = 0, with_sink = 0, violations = 0;
  stats::DormantReasons reasons;

  void add(const Dormant& other) {
    queries += other.queries, with_sink += other.with_sink, violations += other.violations;
    reasons.sink += other.reasons.sink, reasons.self += other.reasons.self;
    reasons.cancel += other.reasons.cancel, reasons.small += other.reasons.small;
  }
};

Dormant dormant_of(const RoutingValues& routing) {
  return {routing.counts.dormant, routing.counts.tables[stats::kExplaining].off_sink,
          routing.violations, routing.counts.reasons};
}

double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : kNoData;
}

double verdict_of(const Dormant& dormant) {
  if (dormant.queries < kMinDormant) return kNoData;
  const double sink = share(dormant.with_sink, dormant.queries);
  if (sink >= kEquivalentShare && dormant.violations == 0) return 1;
  if (sink >= kMostlyShare) return 2;
  const int64_t others[] = {dormant.reasons.self, dormant.reasons.cancel, dormant.reasons.small};
  return static_cast<double>(3 + (std::max_element(others, others + 3) - others));
}

double phi(const SwitchTable& t) {
  const auto a = static_cast<double>(t.off_sink), b = static_cast<double>(t.off_else),
             c = static_cast<double>(t.on_sink), d = static_cast<double>(t.on_else);
  const double margins = (a + b) * (c + d) * (a + c) * (b + d);
  return margins > 0 ? (a * d - b * c) / std::sqrt(margins) : kNoData;
}

void write_reasons(const stats::DormantReasons& reasons, std::span<double> to) {
  to[0] = static_cast<double>(reasons.sink), to[1] = static_cast<double>(reasons.self);
  to[2] = static_cast<double>(reasons.cancel), to[3] = static_cast<double>(reasons.small);
}

class HeadWriter {
 public:
  HeadWriter(int layer, size_t head, Record& record)
      : layer_(layer), head_(head), record_(record) {}

  void write_counts(const SwitchCounts& counts) const {
    at(kQueries)[0] = static_cast<double>(counts.queries);
    if (counts.queries == 0) return;
    at(kDormant)[0] = share(counts.dormant, counts.queries);
    at(kSoft)[0] = share(counts.soft, counts.queries);
    write_reasons(counts.reasons, at(kReasons));
    std::copy(counts.off_bins.begin(), counts.off_bins.end(), at(kOffBins).begin());
    std::copy(counts.rho_bins.begin(), counts.rho_bins.end(), at(kRhoBins).begin());
    for (size_t e = 0; e < counts.tables.size(); ++e) {
      const SwitchTable& table = counts.tables[e];
      const int64_t cells[] = {table.off_sink, table.off_else, table.on_sink, table.on_else};
      std::copy(cells, cells + 4, at(kTable).begin() + static_cast<int64_t>(4 * e));
      at(kSinkGivenOff)[e] = share(table.off_sink, table.off_sink + table.off_else);
      at(kOffGivenSink)[e] = share(table.off_sink, table.off_sink + table.on_sink);
      at(kPhi)[e] = phi(table);
    }
  }

  void write_values(const stats::ValueSet& values, int64_t violations) const {
    if (values.count == 0) return;
    at(kRank)[0] = static_cast<double>(values.rank);
    at(kStableRank)[0] = values.stable_rank;
    at(kFullRank)[0] = values.rank == values.count;
    if (std::isnan(values.margin)) return;
    at(kMargin)[0] = values.margin;
    at(kHalfSpace)[0] = values.margin > 0;
    at(kPremise)[0] = values.margin > 0 && values.sink_inside;
    at(kViolations)[0] = static_cast<double>(violations);
  }

  void write_verdict(double verdict) const { at(kVerdict)[0] = verdict; }

 private:
  std::span<double> at(const MetricInfo& metric) const {
    return head_entries(metric, layer_, head_, record_);
  }

  int layer_;
  size_t head_;
  Record& record_;
};

constexpr Part kNeeds[] = {Part::kValues, Part::kRouting};

void measure(const LayerInput& input, const Thresholds&, Record& record) {
  create_metrics(kMetrics, input.layer, record);
  Dormant layer;
  bool measured = false;
  for_each_head(input, record, [&](size_t h, const stats::HeadValues& head) {
    if (!head.routing) return;
    const Dormant dormant = dormant_of(*head.routing);
    const HeadWriter writer(input.layer, h, record);
    writer.write_counts(head.routing->counts);
    writer.write_values(head.routing->values, head.routing->violations);
    writer.write_verdict(verdict_of(dormant));
    layer.add(dormant);
    measured = true;
  });
  if (!measured) return;
  record.values(kLayerShare, input.layer)[0] = share(layer.with_sink, layer.queries);
  write_reasons(layer.reasons, record.values(kLayerReasons, input.layer));
  record.values(kLayerVerdict, input.layer)[0] = verdict_of(layer);
}

}  // namespace

Diagnostic switch_diagnostic() { return {"switch", false, kMetrics, kNeeds, measure, nullptr}; }

}  // namespace sinkscope::diagnostics
