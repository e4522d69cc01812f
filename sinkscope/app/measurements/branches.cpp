#include <ATen/ATen.h>

#include "sinkscope/app/measurements/table.h"
#include "sinkscope/stats/hidden_state.h"

namespace sinkscope::app {
namespace {

/// How long the vectors are that attention and the MLP add to position 0.
class Branches : public Measurement {
 public:
  explicit Branches(const MeasurementContext& context)
      : attention_(context.sequences.size(), diagnostics::kNoData),
        mlp_(context.sequences.size(), diagnostics::kNoData) {}

  bool wants(forward::Tap tap, int) const override {
    return tap == forward::Tap::kAttnOut || tap == forward::Tap::kMlpOut;
  }

  void on_activation(const forward::Activation& activation) override {
    std::vector<double>& first = activation.tap == forward::Tap::kAttnOut ? attention_ : mlp_;
    const int64_t width = activation.rows.size(1);
    for (const forward::Segment& s : activation.segments) {
      if (s.first_position != 0) continue;
      first[static_cast<size_t>(s.stream)] =
          stats::length(activation.rows.data_ptr<float>() + s.first_row * width, width);
    }
  }

  void measure(const forward::LayerState&, int64_t stream,
               diagnostics::LayerInput& input) override {
    input.attn_out_norm_first = attention_[static_cast<size_t>(stream)];
    input.mlp_out_norm_first = mlp_[static_cast<size_t>(stream)];
  }

 private:
  std::vector<double> attention_, mlp_;  // by stream, of the layer in progress
};

}  // namespace

std::unique_ptr<Measurement> branches_measurement(const MeasurementContext& context) {
  return std::make_unique<Branches>(context);
}

}  // namespace sinkscope::app
