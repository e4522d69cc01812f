#include <cmath>

#include "sinkscope/diagnostics/heads.h"
#include "sinkscope/diagnostics/sink.h"
#include "sinkscope/diagnostics/table.h"

namespace sinkscope::diagnostics {

namespace {

constexpr double kZeroNorm = 1e-12;

// clang-format off
constexpr MetricInfo kRatioHead{"ratio_head", Scope::kHead, 1, Aggregate::kMean, "",
    "||v_s|| divided by the mean ||v_j|| over j != s, before the output projection"};
constexpr MetricInfo kRatioOut{"ratio_out", Scope::kHead, 1, Aggregate::kMean, "",
    "||u_s|| divided by the mean ||u_j|| over j != s, u_j = W_O v_j of the head"};
constexpr MetricInfo kDegenerate{"degenerate", Scope::kHead, 1, Aggregate::kMean, "share",
    "1 when ||u_s|| and the mean ||u_j|| are both below 1e-12; ratio_out is then 1"};
// clang-format on

constexpr MetricInfo kMetrics[] = {kRatioHead, kRatioOut, kDegenerate};

struct Ratio {
  double value = kNoData;
  bool degenerate = false;
};

Ratio ratio_to_rest(std::span<const double> norms, size_t sink) {
  if (norms.size() < 2 || sink >= norms.size()) return {};
  double rest = 0;
  for (size_t j = 0; j < norms.size(); ++j) {
    if (j != sink) rest += norms[j];
  }
  rest /= static_cast<double>(norms.size() - 1);
  if (norms[sink] < kZeroNorm && rest < kZeroNorm) return {1, true};
  return {norms[sink] / std::max(rest, kZeroNorm), false};
}

constexpr Part kNeeds[] = {Part::kValues};

void measure(const LayerInput& input, const Thresholds&, Record& record) {
  create_metrics(kMetrics, input.layer, record);
  for_each_head(input, record, [&](size_t h, const stats::HeadValues& head) {
    const double key = head_value(record, "sink_index", input.layer, h);
    if (!head.norms || std::isnan(key)) return;
    // The sink logit has no value vector: it adds nothing to the update.
    const bool virtual_key = key == kSinkLogitKey;
    const auto s = static_cast<size_t>(virtual_key ? 0 : key);
    const Ratio before = virtual_key ? Ratio{0, false} : ratio_to_rest(head.norms->head, s);
    const Ratio after = virtual_key ? Ratio{0, false} : ratio_to_rest(head.norms->out, s);
    record.values(kRatioHead, input.layer)[h] = before.value;
    record.values(kRatioOut, input.layer)[h] = after.value;
    if (!std::isnan(after.value)) record.values(kDegenerate, input.layer)[h] = after.degenerate;
  });
}

}  // namespace

Diagnostic values_diagnostic() { return {"values", true, kMetrics, kNeeds, measure, nullptr}; }

}  // namespace sinkscope::diagnostics
