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

void measure(const LayerInput& input, const Thresholds&, Record& record) {
  create_metrics(kMetrics, input.layer, record);
  for_each_head(input, record, [&](size_t h, const stats::HeadValues& head) {
    // A share is at least 1 / K: 0 stands for a head that was left out.
    if (head.qk_top_share > 0) record.values(kMetrics[0], input.layer)[h] = head.qk_top_share;
  });
}

}  // namespace

Diagnostic qk_diagnostic() { return {"qk", false, kMetrics, measure, nullptr}; }

}  // namespace sinkscope::diagnostics
