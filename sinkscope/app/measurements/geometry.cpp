#include "sinkscope/stats/geometry.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "sinkscope/app/choose.h"
#include "sinkscope/app/measurements/table.h"
#include "sinkscope/diagnostics/sink.h"

namespace sinkscope::app {
namespace {

// More tokens than this enter by a seeded choice: the time grows with their number.
constexpr int64_t kMostTokens = 1024;
// Lower bounds of the diagonal hardly rise beyond some hundred tokens, and cost their square.
constexpr int64_t kMostDiagonal = 255;

/// Half-space conditions of z around position 0, and of each head's rotated queries and keys around
/// its dominant key.
class Geometry : public Measurement {
 public:
  explicit Geometry(const MeasurementContext& context)
      : context_(context),
        z_(context.sequences.size()),
        layer_(context.sequences.size()),
        heads_(context.sequences.size()) {}

  bool wants(forward::Tap tap, int) const override { return tap == forward::Tap::kNorm1; }

  void on_activation(const forward::Activation& activation) override {
    for (const forward::Segment& s : activation.segments) {
      const auto stream = static_cast<size_t>(s.stream);
      at::Tensor& z = z_[stream];
      if (!z.defined()) {
        z = at::empty({context_.sequences[stream]->tokens(), context_.spec.width}, at::kFloat);
      }
      z.narrow(0, s.first_position, s.rows).copy_(activation.rows.narrow(0, s.first_row, s.rows));
    }
  }

  void measure(const forward::LayerState& state, int64_t stream,
               diagnostics::LayerInput& input) override {
    const auto s = static_cast<size_t>(stream);
    layer_[s] = measure_layer(state.visibility[s], stream);
    input.geometry = &layer_[s];
    heads_[s].resize(input.heads.size());
    at::parallel_for(0, std::ssize(input.heads), 1, [&](int64_t begin, int64_t end) {
      for (int64_t h = begin; h < end; ++h) measure_head(state, stream, h, input);
    });
  }

 private:
  stats::GeometryValues measure_layer(const forward::Visibility& visibility, int64_t stream) const {
    const at::Tensor& z = z_[static_cast<size_t>(stream)];
    stats::SinkPairs pairs = stats::sink_pairs(visibility, z.size(0), 0);
    const int64_t available = std::ssize(pairs.queries);
    const int64_t duplicates = stats::duplicates_of_sink(z, pairs);
    limit(pairs, stream);
    stats::GeometryValues values = stats::sink_geometry(z, z, pairs, duplicates);
    values.available = available;
    stats::add_pattern_costs(z, pairs, visibility.causal,
                             chosen(pairs.queries, kMostDiagonal, stream), values);
    return values;
  }

  void measure_head(const forward::LayerState& state, int64_t stream, int64_t head,
                    diagnostics::LayerInput& input) {
    const auto s = static_cast<size_t>(stream), h = static_cast<size_t>(head);
    if (!input.heads[h].attention) return;
    const diagnostics::SinkVerdict verdict =
        diagnostics::judge_sink(*input.heads[h].attention, context_.thresholds);
    if (verdict.key == diagnostics::kSinkLogitKey) return;  // no key of this sequence
    const forward::Segment& rows = state.streams[s];
    const at::Tensor q = state.rot_q.narrow(0, rows.first_row, rows.rows).select(1, head),
                     k = state.rot_k.narrow(0, rows.first_row, rows.rows)
                             .select(1, context_.spec.group_of(head));
    stats::SinkPairs pairs = stats::sink_pairs(state.visibility[s], rows.rows, verdict.key);
    const int64_t available = std::ssize(pairs.queries);
    const int64_t duplicates = stats::duplicates_of_sink(k, pairs);
    limit(pairs, stream);
    heads_[s][h] = stats::sink_geometry(q, k, pairs, duplicates);
    heads_[s][h].available = available;
    input.heads[h].geometry = &heads_[s][h];
  }

  std::vector<int64_t> chosen(const std::vector<int64_t>& positions, int64_t most,
                              int64_t stream) const {
    const auto id = static_cast<uint64_t>(context_.sequences[static_cast<size_t>(stream)]->id);
    std::vector<int64_t> kept;
    for (const int64_t i :
         choose(std::ssize(positions), most, context_.seed + (id + 1) * 0x9E3779B97F4A7C15u)) {
      kept.push_back(positions[static_cast<size_t>(i)]);
    }
    return kept;
  }

  void limit(stats::SinkPairs& pairs, int64_t stream) const {
    pairs.queries = chosen(pairs.queries, kMostTokens, stream);
    pairs.keys = chosen(pairs.keys, kMostTokens, stream);
  }

  MeasurementContext context_;
  std::vector<at::Tensor> z_;                              // by stream, [T, D], of the layer
  std::vector<stats::GeometryValues> layer_;               // by stream
  std::vector<std::vector<stats::GeometryValues>> heads_;  // [stream][head]
};

}  // namespace

std::unique_ptr<Measurement> geometry_measurement(const MeasurementContext& context) {
  return std::make_unique<Geometry>(context);
}

}  // namespace sinkscope::app
