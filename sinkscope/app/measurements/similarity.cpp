#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "sinkscope/app/measurements/table.h"
#include "sinkscope/stats/hidden_state.h"

namespace sinkscope::app {
namespace {

/// Directions of z, the input of q, k and v.
class Similarity : public Measurement {
 public:
  explicit Similarity(const MeasurementContext& context)
      : width_(context.spec.width), values_(context.sequences.size()) {}

  bool wants(forward::Tap tap, int) const override { return tap == forward::Tap::kNorm1; }

  void on_activation(const forward::Activation& activation) override {
    if (sums_.empty()) sums_.assign(values_.size(), stats::Similarity(width_));
    const float* data = activation.rows.data_ptr<float>();
    const auto segments = activation.segments;
    at::parallel_for(0, static_cast<int64_t>(segments.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const forward::Segment& s = segments[static_cast<size_t>(i)];
        sums_[static_cast<size_t>(s.stream)].add(data + s.first_row * width_, s.rows);
      }
    });
  }

  void measure(const forward::LayerState&, int64_t stream,
               diagnostics::LayerInput& input) override {
    const auto s = static_cast<size_t>(stream);
    values_[s] = sums_[s].value();
    input.normed_in = &values_[s];
  }

  void end_layer() override { sums_.clear(); }

 private:
  int64_t width_;
  std::vector<stats::Similarity> sums_;          // by stream, of the layer in progress
  std::vector<stats::SimilarityValues> values_;  // by stream
};

}  // namespace

std::unique_ptr<Measurement> similarity_measurement(const MeasurementContext& context) {
  return std::make_unique<Similarity>(context);
}

}  // namespace sinkscope::app
