#include "sinkscope/diagnostics/update.h"

#include "sinkscope/diagnostics/heads.h"
#include "sinkscope/diagnostics/table.h"

namespace sinkscope::diagnostics {

namespace {

// clang-format off
constexpr MetricInfo kMetrics[] = {
    {"stable_rank", Scope::kHead, 1, Aggregate::kMean, "",
     "||U||_F^2 / ||U||_op^2, U = rows o_i = sum_j A_ij u_j; measured where the event rule holds"},
    {"common_mode", Scope::kHead, 1, Aggregate::kMean, "share",
     "share of ||U||_F^2 in the mean over tokens; measured where the event rule holds"},
    {"update_energy", Scope::kHead, 1, Aggregate::kMean, "",
     "||U||_F^2, measured where the event rule holds"},
};
// clang-format on

constexpr Part kNeeds[] = {Part::kValues};

void measure(const LayerInput& input, const Thresholds&, Record& record) {
  create_metrics(kMetrics, input.layer, record);
  for_each_head(input, record, [&](size_t h, const stats::HeadValues& head) {
    if (!head.update || head_value(record, "event", input.layer, h) != 1) return;
    write_update(head.update(), kMetrics, input.layer, h, record);
  });
}

}  // namespace

UpdateMetrics update_metrics() { return kMetrics; }

void write_update(const stats::UpdateValues& update, UpdateMetrics metrics, int layer, size_t head,
                  Record& record) {
  record.values(metrics[0], layer)[head] = update.stable_rank;
  record.values(metrics[1], layer)[head] = update.common_mode;
  record.values(metrics[2], layer)[head] = update.energy;
}

Diagnostic update_diagnostic() { return {"update", true, kMetrics, kNeeds, measure, nullptr}; }

}  // namespace sinkscope::diagnostics
