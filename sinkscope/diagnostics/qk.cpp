#include <numeric>

#include "sinkscope/diagnostics/heads.h"
#include "sinkscope/diagnostics/table.h"

namespace sinkscope::diagnostics {

namespace {

// clang-format off
constexpr MetricInfo kMetrics[] = {
    {"qk_top_share", Scope::kHead, 1, Aggregate::kMean, "share",
     "sigma_1 / sum sigma of Theta = W_Q^T W_K of the head: 1 when it has rank one"},
};
// clang-format on

constexpr Part kNeeds[] = {Part::kSpectrum};

void measure(const LayerInput& input, const Thresholds&, Record& record) {
  create_metrics(kMetrics, input.layer, record);
  for_each_head(input, record, [&](size_t h, const stats::HeadValues& head) {
    if (head.qk_spectrum.empty()) return;
    const double sum = std::accumulate(head.qk_spectrum.begin(), head.qk_spectrum.end(), 0.0);
    if (sum > 0) record.values(kMetrics[0], input.layer)[h] = head.qk_spectrum[0] / sum;
  });
}

}  // namespace

Diagnostic qk_diagnostic() { return {"qk", false, kMetrics, kNeeds, measure, nullptr}; }

}  // namespace sinkscope::diagnostics
