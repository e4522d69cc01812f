#include "sinkscope/diagnostics/heads.h"
#include "sinkscope/diagnostics/table.h"

namespace sinkscope::diagnostics {

namespace {

// clang-format off
constexpr MetricInfo kMetrics[] = {
    {"loss", Scope::kSequence, 1, Aggregate::kMean, "nats",
     "mean negative log likelihood of the next token over the predicted tokens of the sequence"},
};
// clang-format on

constexpr Part kNeeds[] = {Part::kLoss};

void measure(const SequenceInput& input, const Thresholds&, Record& record) {
  create_metrics(kMetrics, 0, record);
  if (input.loss_tokens <= 0) return;
  record.values(kMetrics[0], 0)[0] = input.loss_sum / static_cast<double>(input.loss_tokens);
}

}  // namespace

Diagnostic loss_diagnostic() { return {"loss", true, kMetrics, kNeeds, nullptr, measure}; }

}  // namespace sinkscope::diagnostics
