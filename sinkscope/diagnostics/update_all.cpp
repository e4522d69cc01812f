#include <cmath>
#include <optional>

#include "sinkscope/diagnostics/heads.h"
#include "sinkscope/diagnostics/table.h"
#include "sinkscope/diagnostics/update.h"

namespace sinkscope::diagnostics {

namespace {

// clang-format off
constexpr MetricInfo kMetrics[] = {
    {"stable_rank_all", Scope::kHead, 1, Aggregate::kMean, "",
     "||U||_F^2 / ||U||_op^2 of the head's update, in every sequence"},
    {"common_mode_all", Scope::kHead, 1, Aggregate::kMean, "share",
     "share of ||U||_F^2 in the mean over tokens, in every sequence"},
    {"update_energy_all", Scope::kHead, 1, Aggregate::kMean, "",
     "||U||_F^2 of the head's update, in every sequence"},
};
// clang-format on

/// What `update` has already solved; its energy is a number wherever it was asked.
std::optional<stats::UpdateValues> solved(const Record& record, int layer, size_t head) {
  const UpdateMetrics names = update_metrics();
  const double energy = head_value(record, names[2].name, layer, head);
  if (std::isnan(energy)) return std::nullopt;
  return stats::UpdateValues{.energy = energy,
                             .stable_rank = head_value(record, names[0].name, layer, head),
                             .common_mode = head_value(record, names[1].name, layer, head)};
}

constexpr Part kNeeds[] = {Part::kValues};

void measure(const LayerInput& input, const Thresholds&, Record& record) {
  create_metrics(kMetrics, input.layer, record);
  for_each_head(input, record, [&](size_t h, const stats::HeadValues& head) {
    if (!head.update) return;
    const auto known = solved(record, input.layer, h);
    write_update(known ? *known : head.update(), kMetrics, input.layer, h, record);
  });
}

}  // namespace

Diagnostic update_all_diagnostic() {
  return {"update_all", false, kMetrics, kNeeds, measure, nullptr};
}

}  // namespace sinkscope::diagnostics
