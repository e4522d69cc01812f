#include "sinkscope/diagnostics/heads.h"
#include "sinkscope/diagnostics/table.h"

namespace sinkscope::diagnostics {

namespace {

// clang-format off
constexpr MetricInfo kMetrics[] = {
    {"attn_out_norm_p0", Scope::kLayer, 1, Aggregate::kMean, "",
     "length of what attention adds to the residual of position 0"},
    {"mlp_out_norm_p0", Scope::kLayer, 1, Aggregate::kMean, "",
     "length of what the MLP adds to the residual of position 0"},
};
// clang-format on

constexpr Part kNeeds[] = {Part::kBranches};

void measure(const LayerInput& input, const Thresholds&, Record& record) {
  create_metrics(kMetrics, input.layer, record);
  record.values(kMetrics[0], input.layer)[0] = input.attn_out_norm_first;
  record.values(kMetrics[1], input.layer)[0] = input.mlp_out_norm_first;
}

}  // namespace

Diagnostic branches_diagnostic() { return {"branches", true, kMetrics, kNeeds, measure, nullptr}; }

}  // namespace sinkscope::diagnostics
