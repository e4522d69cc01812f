#include "sinkscope/diagnostics/heads.h"
#include "sinkscope/diagnostics/median.h"
#include "sinkscope/diagnostics/table.h"

namespace sinkscope::diagnostics {

namespace {

// clang-format off
constexpr MetricInfo kMetrics[] = {
    {"resid_norm_p0", Scope::kLayer, 1, Aggregate::kMean, "",
     "||x_0|| after the block, before the final norm"},
    {"resid_norm_median", Scope::kLayer, 1, Aggregate::kMean, "",
     "median of ||x_t|| over t >= 1 after the block"},
    {"resid_norm_mean_rest", Scope::kLayer, 1, Aggregate::kMean, "",
     "mean of ||x_t|| over t >= 1 after the block"},
    {"resid_norm_ratio", Scope::kLayer, 1, Aggregate::kMean, "",
     "resid_norm_p0 / resid_norm_median"},
    {"embed_norm_p0", Scope::kSequence, 1, Aggregate::kMean, "",
     "||x_0|| of the embedding, before the first block"},
    {"embed_norm_median", Scope::kSequence, 1, Aggregate::kMean, "",
     "median of ||x_t|| over t >= 1 of the embedding"},
    {"embed_norm_mean_rest", Scope::kSequence, 1, Aggregate::kMean, "",
     "mean of ||x_t|| over t >= 1 of the embedding"},
    {"embed_norm_ratio", Scope::kSequence, 1, Aggregate::kMean, "",
     "embed_norm_p0 / embed_norm_median"},
};
// clang-format on

constexpr std::span kAllMetrics(kMetrics);
constexpr auto kAfterBlock = kAllMetrics.first<4>();
constexpr auto kEmbedding = kAllMetrics.last<4>();

double mean(std::span<const double> values) {
  if (values.empty()) return kNoData;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

void write_norms(const stats::ResidualValues* state, std::span<const MetricInfo, 4> metrics,
                 int layer, Record& record) {
  create_metrics(metrics, layer, record);
  if (!state || state->norm.empty()) return;
  const std::span rest = std::span(state->norm).subspan(1);
  const double middle = median({rest.begin(), rest.end()});
  record.values(metrics[0], layer)[0] = state->norm[0];
  record.values(metrics[1], layer)[0] = middle;
  record.values(metrics[2], layer)[0] = mean(rest);
  // Every other token at exactly zero: no finite ratio exists.
  record.values(metrics[3], layer)[0] = middle > 0 ? state->norm[0] / middle : kNoData;
}

constexpr Part kNeeds[] = {Part::kResidual};

void measure(const LayerInput& input, const Thresholds&, Record& record) {
  write_norms(input.residual_out, kAfterBlock, input.layer, record);
  if (input.layer == 0) write_norms(input.residual_in, kEmbedding, 0, record);
}

}  // namespace

Diagnostic residual_diagnostic() { return {"residual", true, kMetrics, kNeeds, measure, nullptr}; }

}  // namespace sinkscope::diagnostics
