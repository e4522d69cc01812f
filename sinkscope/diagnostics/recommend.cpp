#include "sinkscope/diagnostics/table.h"
#include "sinkscope/stats/advice_values.h"

namespace sinkscope::diagnostics {

namespace {

// clang-format off
constexpr MetricInfo kMetrics[] = {
    {"advice_loss", Scope::kSequence, 1, Aggregate::kMean, "nats",
     "next-token loss of the sequences on which edits were tried"},
    {"evict_first_loss_change", Scope::kSequence, 1, Aggregate::kMean, "nats",
     "loss when no later query sees position 0, less advice_loss"},
    {"evict_other_loss_change", Scope::kSequence, 1, Aggregate::kMean, "nats",
     "loss without the other position that carries most sink events, less advice_loss"},
    {"evict_random_loss_change", Scope::kSequence, 1, Aggregate::kMean, "nats",
     "control: loss without one random position, less advice_loss"},
    {"evict_other_position", Scope::kSequence, 1, Aggregate::kMode, "",
     "the other position that carries most sink events"},
    {"massive_zero_loss_change", Scope::kSequence, 1, Aggregate::kMean, "nats",
     "loss with massive activations set to 0 where they first appear, less advice_loss"},
    {"massive_mean_loss_change", Scope::kSequence, 1, Aggregate::kMean, "nats",
     "loss with massive activations set to their mean over the batch, less advice_loss"},
    {"advice_nop_heads", Scope::kSequence, 1, Aggregate::kMean, "heads", "heads of class nop in the sequence"},
    {"advice_broadcast_heads", Scope::kSequence, 1, Aggregate::kMean, "heads", "heads of class broadcast in the sequence"},
    {"nop_value_loss_change", Scope::kSequence, 1, Aggregate::kMean, "nats",
     "loss with the sink values of every nop head set to 0, less advice_loss"},
    {"nop_column_loss_change", Scope::kSequence, 1, Aggregate::kMean, "nats",
     "loss when no nop head sees its sink, less advice_loss"},
    {"broadcast_value_loss_change", Scope::kSequence, 1, Aggregate::kMean, "nats",
     "loss with the sink values of every broadcast head set to 0, less advice_loss"},
};
// clang-format on

constexpr Part kNeeds[] = {Part::kAdvice};

void measure(const SequenceInput& input, const Thresholds&, Record& record) {
  for (const MetricInfo& metric : kMetrics) record.values(metric, 0);
  if (!input.advice) return;
  const stats::AdviceValues& a = *input.advice;
  const double values[] = {a.loss,
                           a.evict_first - a.loss,
                           a.evict_other - a.loss,
                           a.evict_random - a.loss,
                           a.other_position,
                           a.massive_zero - a.loss,
                           a.massive_mean - a.loss,
                           static_cast<double>(a.nop_heads),
                           static_cast<double>(a.broadcast_heads),
                           a.nop_value - a.loss,
                           a.nop_column - a.loss,
                           a.broadcast_value - a.loss};
  for (size_t i = 0; i < std::size(kMetrics); ++i) record.values(kMetrics[i], 0)[0] = values[i];
}

}  // namespace

Diagnostic recommend_diagnostic() {
  return {"recommend", false, kMetrics, kNeeds, nullptr, measure};
}

}  // namespace sinkscope::diagnostics
