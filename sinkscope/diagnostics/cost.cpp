#include <cmath>

#include "sinkscope/diagnostics/heads.h"
#include "sinkscope/diagnostics/sink.h"
#include "sinkscope/diagnostics/table.h"
#include "sinkscope/stats/geometry_values.h"
#include "sinkscope/stats/weight_size_values.h"

namespace sinkscope::diagnostics {

namespace {

using theory::Bracket;

// Mean share from which a pattern shows a positive margin: log(A / (1 - A)) > 0.
constexpr double kPatternShare = 0.5;

enum Pattern { kNeither = 0, kSink = 1, kDiagonal = 2 };

// clang-format off
constexpr MetricInfo kQkNuclear{"qk_nuclear", Scope::kHead, 1, Aggregate::kMean, "",
    "sum of the singular values of W_Q^T W_K of the head"};
constexpr MetricInfo kQkFrobenius{"qk_frobenius", Scope::kHead, 1, Aggregate::kMean, "",
    "root of the sum of the squared singular values of W_Q^T W_K"};
constexpr MetricInfo kVoNuclear{"vo_nuclear", Scope::kHead, 1, Aggregate::kMean, "",
    "sum of the singular values of W_O W_V of the head"};
constexpr MetricInfo kVoFrobenius{"vo_frobenius", Scope::kHead, 1, Aggregate::kMean, "",
    "root of the sum of the squared singular values of W_O W_V"};
constexpr MetricInfo kSinkCost{"sink_cost", Scope::kLayer, 2, Aggregate::kMean, "",
    "bounds of the least |W|, any Schatten norm, with z_i^T W (z_0 - z_j) >= 1 at all pairs: upper 1 / (g_Z g_D)"};
constexpr MetricInfo kDiagonalCost{"diagonal_cost", Scope::kLayer, 2, Aggregate::kMean, "",
    "bounds of the least nuclear norm with z_i^T W (z_i - z_j) >= 1: lower sum P / |M|_op, upper rank / min z_i.(z_i - z_j)"};
constexpr MetricInfo kDiagonalFrobenius{"diagonal_cost_frobenius", Scope::kLayer, 2, Aggregate::kMean, "",
    "the same of the least Frobenius norm, a control: lower sum P / |M|_F, upper sqrt(rank) / min z_i.(z_i - z_j)"};
constexpr MetricInfo kDiagonalDearer{"diagonal_dearer", Scope::kLayer, 1, Aggregate::kMean, "share",
    "1 when the least nuclear norm of a diagonal exceeds that of a sink, 0 when it is below; no data where the bounds overlap"};
constexpr MetricInfo kPattern{"cost_pattern", Scope::kHead, 1, Aggregate::kMode, "",
    "pattern the head shows: 1 sink (the sink rule holds), 2 diagonal (no sink, self_mass > 0.5), 0 neither"};
constexpr MetricInfo kMargin{"cost_margin", Scope::kHead, 1, Aggregate::kMean, "nats",
    "kappa = log(A / (1 - A)) with A the mean share of the pattern's key, alpha_sink or self_mass; no data for A <= 0.5"};
constexpr MetricInfo kBounds{"cost_bounds", Scope::kHead, 2, Aggregate::kMean, "",
    "bounds of the least nuclear norm of W_Q^T W_K for the pattern the head shows: kappa / c times sink_cost or diagonal_cost"};
constexpr MetricInfo kBoundsFrobenius{"cost_bounds_frobenius", Scope::kHead, 2, Aggregate::kMean, "",
    "the same of the least Frobenius norm"};
constexpr MetricInfo kNeeded{"cost_needed", Scope::kHead, 1, Aggregate::kMean, "",
    "upper bound of cost_bounds divided by qk_nuclear: how much of the head's size its pattern needs"};
constexpr MetricInfo kOtherDearer{"cost_other_dearer", Scope::kHead, 1, Aggregate::kMean, "share",
    "1 when the other pattern (diagonal for a sink, sink for a diagonal) needs a larger nuclear norm at the same margin, 0 when a smaller one; no data where the bounds overlap"};
// clang-format on

constexpr MetricInfo kMetrics[] = {
    kQkNuclear,    kQkFrobenius,       kVoNuclear,      kVoFrobenius, kSinkCost,
    kDiagonalCost, kDiagonalFrobenius, kDiagonalDearer, kPattern,     kMargin,
    kBounds,       kBoundsFrobenius,   kNeeded,         kOtherDearer};

constexpr Part kNeeds[] = {Part::kSpectrum, Part::kGeometry, Part::kWeightSize};

/// 1: `a` is certainly larger than `b`; 0: certainly smaller.
double dearer(const Bracket& a, const Bracket& b) {
  if (a.lower > b.upper) return 1;
  return a.upper < b.lower ? 0 : kNoData;
}

void write_bracket(const MetricInfo& metric, int layer, size_t head, const Bracket& bracket,
                   double factor, Record& record) {
  // Infinite where no W makes the pattern: no number that a mean could take.
  const auto finite = [&](double bound) { return std::isinf(bound) ? kNoData : bound * factor; };
  record.values(metric, layer)[head * 2] = finite(bracket.lower);
  record.values(metric, layer)[head * 2 + 1] = finite(bracket.upper);
}

void write_weights(const stats::HeadValues& head, int layer, size_t h, Record& record) {
  const auto write = [&](const MetricInfo& metric, double value) {
    record.values(metric, layer)[h] = value;
  };
  if (!head.qk_spectrum_plain.empty()) {
    double sum = 0, squares = 0;
    for (const double sigma : head.qk_spectrum_plain) sum += sigma, squares += sigma * sigma;
    write(kQkNuclear, sum);
    write(kQkFrobenius, std::sqrt(squares));
  }
  if (head.weight_size) {
    write(kVoNuclear, head.weight_size->vo_nuclear);
    write(kVoFrobenius, head.weight_size->vo_frobenius);
  }
}

Pattern pattern_of(const Record& record, int layer, size_t h) {
  if (head_value(record, "sink", layer, h) == 1) return kSink;
  const bool judged = head_value(record, "too_short", layer, h) == 0;
  return judged && head_value(record, "self_mass", layer, h) > kPatternShare ? kDiagonal : kNeither;
}

void write_pattern(const stats::GeometryValues& geometry, double score_scale, int layer, size_t h,
                   Record& record) {
  const Pattern pattern = pattern_of(record, layer, h);
  record.values(kPattern, layer)[h] = pattern;
  if (pattern == kNeither) return;
  const double key = head_value(record, "sink_index", layer, h);
  Bracket sink = geometry.sink_cost;
  if (pattern == kSink && key == kSinkLogitKey) sink = {0, 0};  // it needs no W at all
  if (pattern == kSink && key > 0) return;  // the geometry is that of position 0

  const Bracket nuclear = geometry.diagonal_cost.nuclear;
  const bool is_sink = pattern == kSink;
  record.values(kOtherDearer, layer)[h] = is_sink ? dearer(nuclear, sink) : dearer(sink, nuclear);
  const double share = head_value(record, is_sink ? "alpha_sink" : "self_mass", layer, h);
  if (!(share > kPatternShare && share < 1)) return;
  const double margin = std::log(share / (1 - share)), factor = margin / score_scale;
  record.values(kMargin, layer)[h] = margin;
  write_bracket(kBounds, layer, h, is_sink ? sink : nuclear, factor, record);
  write_bracket(kBoundsFrobenius, layer, h, is_sink ? sink : geometry.diagonal_cost.frobenius,
                factor, record);
  const double size = record.values(kQkNuclear, layer)[h];
  if (size > 0) {
    record.values(kNeeded, layer)[h] = record.values(kBounds, layer)[h * 2 + 1] / size;
  }
}

void measure(const LayerInput& input, const Thresholds&, Record& record) {
  create_metrics(kMetrics, input.layer, record);
  if (input.geometry) {
    const stats::GeometryValues& geometry = *input.geometry;
    const theory::DiagonalCost& diagonal = geometry.diagonal_cost;
    write_bracket(kSinkCost, input.layer, 0, geometry.sink_cost, 1, record);
    write_bracket(kDiagonalCost, input.layer, 0, diagonal.nuclear, 1, record);
    write_bracket(kDiagonalFrobenius, input.layer, 0, diagonal.frobenius, 1, record);
    record.values(kDiagonalDearer, input.layer)[0] = dearer(diagonal.nuclear, geometry.sink_cost);
  }
  for_each_head(input, record, [&](size_t h, const stats::HeadValues& head) {
    write_weights(head, input.layer, h, record);
    if (!input.geometry || !head.weight_size) return;
    write_pattern(*input.geometry, head.weight_size->score_scale, input.layer, h, record);
  });
}

}  // namespace

Diagnostic cost_diagnostic() { return {"cost", false, kMetrics, kNeeds, measure, nullptr}; }

}  // namespace sinkscope::diagnostics
