#include "sinkscope/stats/weight_size.h"

#include <ATen/ATen.h>

#include "sinkscope/app/measurements/table.h"

namespace sinkscope::app {
namespace {

/// Norms of the value-output map of each head: of the weights alone.
class WeightSize : public Measurement {
 public:
  explicit WeightSize(const MeasurementContext& context) : spec_(context.spec) {}

  void begin_layer(const forward::LayerState& state) override {
    const at::Tensor w_v = state.weights->qkv.weight.narrow(
        0, spec_.query_width() + spec_.key_width(), spec_.key_width());
    sizes_ = stats::weight_size(w_v, state.w_o, spec_.heads, spec_.kv_heads, spec_.score_scale);
  }

  void measure(const forward::LayerState&, int64_t, diagnostics::LayerInput& input) override {
    for (size_t h = 0; h < input.heads.size(); ++h) {
      if (input.heads[h].attention) input.heads[h].weight_size = &sizes_[h];
    }
  }

 private:
  const model::ModelSpec& spec_;
  std::vector<stats::WeightSizeValues> sizes_;  // [head]
};

}  // namespace

std::unique_ptr<Measurement> weight_size_measurement(const MeasurementContext& context) {
  return std::make_unique<WeightSize>(context);
}

}  // namespace sinkscope::app
