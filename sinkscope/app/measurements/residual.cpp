#include <ATen/ATen.h>

#include "sinkscope/app/measurements/table.h"
#include "sinkscope/stats/hidden_state.h"

namespace sinkscope::app {
namespace {

/// Lengths and largest entries of the residual after each block, and of the embedding.
class Residual : public Measurement {
 public:
  explicit Residual(const MeasurementContext& context)
      : floor_(context.thresholds.massive_abs),
        embedding_(context.sequences.size()),
        after_(context.sequences.size()) {}

  bool wants(forward::Tap tap, int) const override { return tap == forward::Tap::kEmbed; }

  void on_activation(const forward::Activation& activation) override {
    for (const forward::Segment& s : activation.segments) {
      embedding_[static_cast<size_t>(s.stream)] = values_of(activation.rows, s);
    }
  }

  void measure(const forward::LayerState& state, int64_t stream,
               diagnostics::LayerInput& input) override {
    const auto s = static_cast<size_t>(stream);
    after_[s] = values_of(state.resid_post, state.streams[s]);
    input.residual_out = &after_[s];
    if (state.layer == 0 && !embedding_[s].norm.empty()) input.residual_in = &embedding_[s];
  }

 private:
  stats::ResidualValues values_of(const at::Tensor& rows, const forward::Segment& s) const {
    const int64_t width = rows.size(1);
    return stats::residual_values(rows.data_ptr<float>() + s.first_row * width, s.rows, width,
                                  floor_);
  }

  double floor_;
  std::vector<stats::ResidualValues> embedding_, after_;  // by stream
};

}  // namespace

std::unique_ptr<Measurement> residual_measurement(const MeasurementContext& context) {
  return std::make_unique<Residual>(context);
}

}  // namespace sinkscope::app
