#include <algorithm>

#include "sinkscope/diagnostics/heads.h"
#include "sinkscope/diagnostics/table.h"
#include "sinkscope/stats/geometry_values.h"

namespace sinkscope::diagnostics {

namespace {

// clang-format off
constexpr MetricInfo kH1{"h1", Scope::kLayer, 1, Aggregate::kMean, "share",
    "1 when 0 lies outside the convex hull of z_0 - z_j: one direction prefers token 0 to every other key"};
constexpr MetricInfo kH2{"h2", Scope::kLayer, 1, Aggregate::kMean, "share",
    "1 when 0 lies outside the convex hull of z_i, i >= 1: one direction is positive for every query"};
constexpr MetricInfo kRepresentable{"representable", Scope::kLayer, 1, Aggregate::kMean, "share",
    "1 when h1 and h2 hold: some W has z_i^T W (z_0 - z_j) > 0 at every pair"};
constexpr MetricInfo kMarginZ{"margin_z", Scope::kLayer, 1, Aggregate::kMean, "",
    "g_Z = dist(0, conv{z_i}), i >= 1; 0 when the hull holds 0"};
constexpr MetricInfo kMarginD{"margin_d", Scope::kLayer, 1, Aggregate::kMean, "",
    "g_D = dist(0, conv{z_0 - z_j}), j >= 1; 0 when the hull holds 0"};
constexpr MetricInfo kGap{"geometry_gap", Scope::kLayer, 1, Aggregate::kMax, "",
    "larger (|w| - min_i w.a_i / |w|) / |w| of the two certificates, w the nearest point of the hull to 0"};
constexpr MetricInfo kTokens{"geometry_tokens", Scope::kLayer, 1, Aggregate::kMean, "tokens",
    "tokens that see position 0 and entered the hulls; at most 1024, by a seeded choice beyond"};
constexpr MetricInfo kShare{"geometry_share", Scope::kLayer, 1, Aggregate::kMean, "share",
    "share of the tokens that see position 0 which entered the hulls: 1 when all did"};
constexpr MetricInfo kDuplicates{"sink_duplicates", Scope::kLayer, 1, Aggregate::kMean, "tokens",
    "tokens j >= 1 with z_j = z_0 within 1e-6 of its length, any of which makes h1 fail"};
constexpr MetricInfo kHeadH1{"head_h1", Scope::kHead, 1, Aggregate::kMean, "share",
    "1 when 0 lies outside the convex hull of k_s - k_j, rotated keys, s the dominant key of the head"};
constexpr MetricInfo kHeadH2{"head_h2", Scope::kHead, 1, Aggregate::kMean, "share",
    "1 when 0 lies outside the convex hull of q_i, the rotated queries that see s"};
constexpr MetricInfo kHeadRepresentable{"head_representable", Scope::kHead, 1, Aggregate::kMean, "share",
    "1 when head_h1 and head_h2 hold"};
constexpr MetricInfo kHeadMarginQ{"head_margin_q", Scope::kHead, 1, Aggregate::kMean, "",
    "dist(0, conv{q_i}) over the queries i != s that see s; 0 when the hull holds 0"};
constexpr MetricInfo kHeadMarginK{"head_margin_k", Scope::kHead, 1, Aggregate::kMean, "",
    "dist(0, conv{k_s - k_j}) over the keys j != s that those queries see; 0 when the hull holds 0"};
constexpr MetricInfo kHeadGap{"head_geometry_gap", Scope::kHead, 1, Aggregate::kMax, "",
    "larger relative gap of the head's two certificates, as geometry_gap"};
// clang-format on

constexpr MetricInfo kMetrics[] = {kH1,          kH2,          kRepresentable, kMarginZ,
                                   kMarginD,     kGap,         kTokens,        kShare,
                                   kDuplicates,  kHeadH1,      kHeadH2,        kHeadRepresentable,
                                   kHeadMarginQ, kHeadMarginK, kHeadGap};

constexpr Part kNeeds[] = {Part::kGeometry};

/// Both conditions: a failure decides, also beside one that has no data.
double both(const stats::GeometryValues& values) {
  const double h1 = values.leads.holds, h2 = values.queries.holds;
  if (h1 == 0 || h2 == 0) return 0;
  return h1 == 1 && h2 == 1 ? 1 : kNoData;
}

double larger_gap(const stats::GeometryValues& values) {
  return std::max(values.queries.gap, values.leads.gap);
}

void measure(const LayerInput& input, const Thresholds&, Record& record) {
  create_metrics(kMetrics, input.layer, record);
  if (input.geometry) {
    const stats::GeometryValues& values = *input.geometry;
    const auto write = [&](const MetricInfo& metric, double value) {
      record.values(metric, input.layer)[0] = value;
    };
    write(kH1, values.leads.holds);
    write(kH2, values.queries.holds);
    write(kRepresentable, both(values));
    write(kMarginZ, values.queries.margin);
    write(kMarginD, values.leads.margin);
    write(kGap, larger_gap(values));
    write(kTokens, static_cast<double>(values.used));
    if (values.available > 0) {
      write(kShare, static_cast<double>(values.used) / static_cast<double>(values.available));
      write(kDuplicates, static_cast<double>(values.duplicates));
    }
  }
  for_each_head(input, record, [&](size_t h, const stats::HeadValues& head) {
    if (!head.geometry) return;
    const auto write = [&](const MetricInfo& metric, double value) {
      record.values(metric, input.layer)[h] = value;
    };
    write(kHeadH1, head.geometry->leads.holds);
    write(kHeadH2, head.geometry->queries.holds);
    write(kHeadRepresentable, both(*head.geometry));
    write(kHeadMarginQ, head.geometry->queries.margin);
    write(kHeadMarginK, head.geometry->leads.margin);
    write(kHeadGap, larger_gap(*head.geometry));
  });
}

}  // namespace

Diagnostic geometry_diagnostic() { return {"geometry", false, kMetrics, kNeeds, measure, nullptr}; }

}  // namespace sinkscope::diagnostics
