#include "sinkscope/stats/routing.h"

#include <ATen/ATen.h>

#include "sinkscope/app/measurements/table.h"
#include "sinkscope/app/measurements/verdicts.h"
#include "sinkscope/stats/value_norms.h"

namespace sinkscope::app {
namespace {

/// What queries do with the dominant key of their head, from a second visit to the rows.
class Routing : public Measurement {
 public:
  explicit Routing(const MeasurementContext& context)
      : context_(context), values_(context.sequences.size()) {}

  void begin_layer(const forward::LayerState& state) override {
    gram_ = stats::output_gram(state.w_o, context_.spec.heads);
  }

  void measure(const forward::LayerState& state, int64_t stream,
               diagnostics::LayerInput& input) override {
    const auto s = static_cast<size_t>(stream);
    const forward::Segment& rows = state.streams[s];
    const std::vector<theory::SeenKeys> seen = seen_keys(state, stream);
    const auto verdicts = judge_heads(input, context_.thresholds);
    const std::vector<int64_t> dominant = dominant_keys(input, verdicts);
    std::vector<const stats::ValueNorms*> norms;
    stats::RoutingInput in;
    for (size_t h = 0; h < input.heads.size(); ++h) {
      norms.push_back(input.heads[h].norms);
      in.conditional.push_back(verdicts[h].conditional);
    }
    in.context = state.z.narrow(0, rows.first_row, rows.rows);
    in.v = state.v.narrow(0, rows.first_row, rows.rows);
    in.gram = gram_;
    in.seen = seen, in.dominant = dominant, in.norms = norms;
    in.event_mass = context_.thresholds.event_mass;
    in.pattern = [&state, stream](int64_t first, int64_t count) {
      return state.pattern(stream, first, count);
    };
    values_[s] = stats::routing(in);
    for (size_t h = 0; h < input.heads.size(); ++h) {
      if (input.heads[h].attention) input.heads[h].routing = &values_[s][h];
    }
  }

 private:
  const MeasurementContext context_;
  at::Tensor gram_;                                        // [H, K, K]
  std::vector<std::vector<stats::RoutingValues>> values_;  // [stream][head]
};

}  // namespace

std::unique_ptr<Measurement> routing_measurement(const MeasurementContext& context) {
  return std::make_unique<Routing>(context);
}

}  // namespace sinkscope::app
