#include <ATen/ATen.h>

#include <random>

#include "sinkscope/app/measurements/table.h"
#include "sinkscope/stats/qk_spectrum.h"

namespace sinkscope::app {
namespace {

/// sigma_1 / sigma_2 of the map of two random matrices of a head's shape: what no training gives.
double random_ratio(int64_t head_width, int64_t width) {
  std::mt19937 random(1);  // one fixed draw, so that runs can be compared
  std::normal_distribution<float> normal;
  const auto draw = [&] {
    at::Tensor weights = at::empty({head_width, width}, at::kFloat);
    float* data = weights.data_ptr<float>();
    for (int64_t i = 0; i < weights.numel(); ++i) data[i] = normal(random);
    return weights;
  };
  const at::Tensor w_q = draw(), w_k = draw();
  const std::vector<double> sigma = stats::qk_spectrum(w_q, w_k, 1, 1)[0];
  return sigma.size() > 1 && sigma[1] > 0 ? sigma[0] / sigma[1] : diagnostics::kNoData;
}

/// Singular values of the query-key map of each head: of the weights alone.
class Spectrum : public Measurement {
 public:
  explicit Spectrum(const MeasurementContext& context)
      : spec_(context.spec), random_(random_ratio(spec_.head_width, spec_.width)) {}

  void begin_layer(const forward::LayerState& state) override {
    const at::Tensor w_q = state.w_q.to(at::kFloat), w_k = state.w_k.to(at::kFloat);
    plain_ = stats::qk_spectrum(w_q, w_k, spec_.heads, spec_.kv_heads);
    const at::Tensor& gain = state.weights->norm1.gain;
    const bool before = spec_.form != model::BlockForm::kPostNorm && gain.defined();
    folded_ =
        before ? stats::qk_spectrum(w_q * gain, w_k * gain, spec_.heads, spec_.kv_heads) : plain_;
  }

  void measure(const forward::LayerState&, int64_t, diagnostics::LayerInput& input) override {
    input.qk_ratio_random = random_;
    for (size_t h = 0; h < input.heads.size(); ++h) {
      if (!input.heads[h].attention) continue;
      input.heads[h].qk_spectrum = folded_[h];
      input.heads[h].qk_spectrum_plain = plain_[h];
    }
  }

 private:
  const model::ModelSpec& spec_;
  double random_;
  std::vector<std::vector<double>> plain_, folded_;  // [head], largest first
};

}  // namespace

std::unique_ptr<Measurement> spectrum_measurement(const MeasurementContext& context) {
  return std::make_unique<Spectrum>(context);
}

}  // namespace sinkscope::app
