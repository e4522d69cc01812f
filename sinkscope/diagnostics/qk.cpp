#include <numeric>

#include "sinkscope/diagnostics/heads.h"
#include "sinkscope/diagnostics/table.h"

namespace sinkscope::diagnostics {

namespace {

// clang-format off
constexpr MetricInfo kMetrics[] = {
    {"qk_top_share", Scope::kHead, 1, Aggregate::kMean, "share",
     "sigma_1 / sum sigma of W_Q^T W_K of the head, its largest singular value's share"},
    {"qk_sigma_1", Scope::kHead, 1, Aggregate::kMean, "",
     "sigma_1 of W_Q^T W_K with the gain of the norm before folded into both"},
    {"qk_sigma_ratio", Scope::kHead, 1, Aggregate::kMean, "",
     "sigma_1 / sigma_2 with the gain; no data where sigma_2 is 0"},
    {"qk_sigma_ratio_plain", Scope::kHead, 1, Aggregate::kMean, "", "sigma_1 / sigma_2 of the weights alone"},
    {"qk_sigma_ratio_random", Scope::kLayer, 1, Aggregate::kMean, "",
     "sigma_1 / sigma_2 of a random map of the same shape"},
};
// clang-format on

constexpr Part kNeeds[] = {Part::kSpectrum};

double gap(std::span<const double> spectrum) {
  return spectrum.size() > 1 && spectrum[1] > 0 ? spectrum[0] / spectrum[1] : kNoData;
}

void measure(const LayerInput& input, const Thresholds&, Record& record) {
  create_metrics(kMetrics, input.layer, record);
  record.values(kMetrics[4], input.layer)[0] = input.qk_ratio_random;
  for_each_head(input, record, [&](size_t h, const stats::HeadValues& head) {
    const auto put = [&](size_t metric, double value) {
      record.values(kMetrics[metric], input.layer)[h] = value;
    };
    const std::span plain = head.qk_spectrum_plain;
    const double sum = std::accumulate(plain.begin(), plain.end(), 0.0);
    if (sum > 0) put(0, plain[0] / sum);
    if (!head.qk_spectrum.empty()) put(1, head.qk_spectrum[0]);
    put(2, gap(head.qk_spectrum));
    put(3, gap(plain));
  });
}

}  // namespace

Diagnostic qk_diagnostic() { return {"qk", false, kMetrics, kNeeds, measure, nullptr}; }

}  // namespace sinkscope::diagnostics
