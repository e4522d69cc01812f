#include <ATen/ATen.h>

#include "sinkscope/app/measurements/table.h"
#include "sinkscope/stats/update_moments.h"
#include "sinkscope/stats/value_norms.h"

namespace sinkscope::app {
namespace {

/// Lengths of the values, and the moments of the update where a verdict asks for them.
class Values : public Measurement {
 public:
  explicit Values(const MeasurementContext& context)
      : heads_(context.spec.heads), norms_(context.sequences.size()) {}

  void begin_layer(const forward::LayerState& state) override {
    gram_ = stats::output_gram(state.w_o, heads_);
  }

  void measure(const forward::LayerState& state, int64_t stream,
               diagnostics::LayerInput& input) override {
    const forward::Segment& rows = state.streams[static_cast<size_t>(stream)];
    auto& norms = norms_[static_cast<size_t>(stream)];
    norms = stats::value_norms(state.v.narrow(0, rows.first_row, rows.rows), gram_);
    for (size_t h = 0; h < input.heads.size(); ++h) {
      stats::HeadValues& head = input.heads[h];
      if (!head.attention) continue;
      head.norms = &norms[h];
      head.update = [this, &state, rows, h] {
        stats::UpdateMoments moments(state.z.size(2));
        moments.add(state.z.narrow(0, rows.first_row, rows.rows).select(1, static_cast<int>(h)));
        return moments.value(gram_[static_cast<int64_t>(h)]);
      };
    }
  }

 private:
  int64_t heads_;
  at::Tensor gram_;                                    // [H, K, K]
  std::vector<std::vector<stats::ValueNorms>> norms_;  // [stream][head]
};

}  // namespace

std::unique_ptr<Measurement> values_measurement(const MeasurementContext& context) {
  return std::make_unique<Values>(context);
}

}  // namespace sinkscope::app
