#include "sinkscope/diagnostics/selection.h"

#include "sinkscope/diagnostics/heads.h"
#include "sinkscope/diagnostics/table.h"
#include "sinkscope/stats/selection_values.h"

namespace sinkscope::diagnostics {

namespace {

// clang-format off
constexpr MetricInfo kMetrics[] = {
    {"subtype", Scope::kHead, 1, Aggregate::kMode, "",
     "how queries find the sink of an event: 0 neither, 1 spectral (qk_sigma_ratio >= 2), 2 massive (massive "
     "activation at the sink, or sink_input_ratio >= 5), 3 both, 4 learned sink logit"},
    {"key_norm_ratio", Scope::kHead, 1, Aggregate::kMean, "",
     "||k_s|| over the mean length of the other keys"},
    {"query_key_cosine", Scope::kHead, 1, Aggregate::kMean, "", "mean over queries of cos(q_i, k_s)"},
    {"query_stable_rank", Scope::kHead, 1, Aggregate::kMean, "",
     "||Q||_F^2 / ||Q||_op^2 of the rotated queries: near 1, one query for all"},
    {"sink_input_ratio", Scope::kHead, 1, Aggregate::kMean, "",
     "||x_s|| over the median length of the tokens that enter the block"},
};
// clang-format on

constexpr Part kNeeds[] = {Part::kSelection, Part::kSpectrum};

void measure(const LayerInput& input, const Thresholds&, Record& record) {
  create_metrics(kMetrics, input.layer, record);
  for_each_head(input, record, [&](size_t h, const stats::HeadValues& head) {
    if (!head.selection) return;
    const auto put = [&](size_t metric, double value) {
      record.values(kMetrics[metric], input.layer)[h] = value;
    };
    const stats::SelectionValues& s = *head.selection;
    if (head_value(record, "event", input.layer, h) == 1) {
      put(0, static_cast<double>(subtype_of(s, head.qk_spectrum)));
    }
    put(1, s.key_norm_ratio);
    put(2, s.query_key_cosine);
    put(3, s.query_stable_rank);
    put(4, s.input_norm_ratio);
  });
}

}  // namespace

Subtype subtype_of(const stats::SelectionValues& selection, std::span<const double> spectrum) {
  if (selection.learned_logit) return Subtype::kLearnedLogit;
  const bool spectral = spectrum.size() > 1 && spectrum[0] >= kSpectralGap * spectrum[1];
  const bool massive = selection.input_massive || selection.input_norm_ratio >= kNormOutlierRatio;
  if (spectral && massive) return Subtype::kBoth;
  return spectral ? Subtype::kSpectral : massive ? Subtype::kMassive : Subtype::kNeither;
}

Diagnostic selection_diagnostic() {
  return {"selection", false, kMetrics, kNeeds, measure, nullptr};
}

}  // namespace sinkscope::diagnostics
