#include "sinkscope/stats/selection.h"

#include <ATen/ATen.h>

#include "sinkscope/app/measurements/table.h"
#include "sinkscope/app/measurements/verdicts.h"

namespace sinkscope::app {
namespace {

/// How the queries of each head find its dominant key.
class Selection : public Measurement {
 public:
  explicit Selection(const MeasurementContext& context)
      : context_(context), values_(context.sequences.size()) {}

  bool wants(forward::Tap tap, int) const override { return tap == forward::Tap::kResidPre; }

  void measure(const forward::LayerState& state, int64_t stream,
               diagnostics::LayerInput& input) override {
    const auto s = static_cast<size_t>(stream);
    const forward::Segment& rows = state.streams[s];
    const diagnostics::Thresholds& thresholds = context_.thresholds;
    const stats::InputNorms norms =
        stats::input_norms(state.resid_pre.narrow(0, rows.first_row, rows.rows),
                           thresholds.massive_abs, thresholds.massive_ratio);
    const at::Tensor q = state.rot_q.narrow(0, rows.first_row, rows.rows),
                     k = state.rot_k.narrow(0, rows.first_row, rows.rows);
    const int64_t per_group = q.size(1) / k.size(1);
    const std::vector<diagnostics::SinkVerdict> verdicts = judge_heads(input, context_.thresholds);
    const std::vector<int64_t> keys = dominant_keys(input, verdicts);
    values_[s].assign(input.heads.size(), {});
    for (size_t h = 0; h < input.heads.size(); ++h) {
      if (!input.heads[h].attention) continue;
      const auto head = static_cast<int64_t>(h);
      values_[s][h] =
          stats::selection_values(q.select(1, head), k.select(1, head / per_group), keys[h], norms);
      input.heads[h].selection = &values_[s][h];
    }
  }

 private:
  MeasurementContext context_;
  std::vector<std::vector<stats::SelectionValues>> values_;  // [stream][head]
};

}  // namespace

std::unique_ptr<Measurement> selection_measurement(const MeasurementContext& context) {
  return std::make_unique<Selection>(context);
}

}  // namespace sinkscope::app
