#include <ATen/ATen.h>

#include "sinkscope/app/measurements/table.h"
#include "sinkscope/stats/qk_spectrum.h"

namespace sinkscope::app {
namespace {

/// Singular values of the query-key map of each head: of the weights alone.
class Spectrum : public Measurement {
 public:
  explicit Spectrum(const MeasurementContext& context) : spec_(context.spec) {}

  void begin_layer(const forward::LayerState& state) override {
    spectra_ = stats::qk_spectrum(state.w_q, state.w_k, spec_.heads, spec_.kv_heads);
  }

  void measure(const forward::LayerState&, int64_t, diagnostics::LayerInput& input) override {
    for (size_t h = 0; h < input.heads.size(); ++h) {
      if (input.heads[h].attention) input.heads[h].qk_spectrum = spectra_[h];
    }
  }

 private:
  const model::ModelSpec& spec_;
  std::vector<std::vector<double>> spectra_;  // [head], largest first
};

}  // namespace

std::unique_ptr<Measurement> spectrum_measurement(const MeasurementContext& context) {
  return std::make_unique<Spectrum>(context);
}

}  // namespace sinkscope::app
