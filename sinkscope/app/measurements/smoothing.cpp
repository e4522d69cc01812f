#include "sinkscope/stats/smoothing.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <optional>

#include "sinkscope/app/measurements/table.h"
#include "sinkscope/app/measurements/verdicts.h"

namespace sinkscope::app {
namespace {

using forward::Tap;
using model::BlockForm;

/// The dominant key that most heads share, of heads with a sink if there are any, the lowest on a
/// tie; -1 when every dominant key is a learned logit.
int64_t shared_key(std::span<const diagnostics::SinkVerdict> verdicts) {
  std::map<int64_t, int> with_sink, any;
  for (const diagnostics::SinkVerdict& verdict : verdicts) {
    if (verdict.too_short || verdict.key < 0) continue;
    any[verdict.key] += 1;
    if (verdict.sink) with_sink[verdict.key] += 1;
  }
  const auto& counts = with_sink.empty() ? any : with_sink;
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? -1 : most->first;
}

/// Curves of each head from identity to uniform attention, on the block's own inputs.
class Smoothing : public Measurement {
 public:
  explicit Smoothing(const MeasurementContext& context)
      : context_(context),
        spec_(context.spec),
        attn_out_(context.sequences.size()),
        gate_(context.sequences.size()),
        values_(context.sequences.size()) {}

  bool wants(Tap tap, int) const override {
    return tap == Tap::kResidPre || tap == Tap::kAttnOut ||
           (tap == Tap::kGate && spec_.gates_output());
  }

  void on_activation(const forward::Activation& activation) override {
    if (activation.tap == Tap::kResidPre) return;  // LayerState has it again
    std::vector<at::Tensor>& kept = activation.tap == Tap::kGate ? gate_ : attn_out_;
    for (const forward::Segment& s : activation.segments) {
      const auto stream = static_cast<size_t>(s.stream);
      const at::Tensor rows = activation.rows.narrow(0, s.first_row, s.rows).flatten(1);
      if (!kept[stream].defined()) {
        kept[stream] = at::empty({context_.sequences[stream]->tokens(), rows.size(1)}, at::kFloat);
      }
      kept[stream].narrow(0, s.first_position, s.rows).copy_(rows);
    }
  }

  void begin_layer(const forward::LayerState& state) override {
    const model::BlockWeights& weights = *state.weights;
    at::Tensor w_o = state.w_o.to(at::kFloat);
    if (weights.attn_norm.defined()) {
      if (spec_.norm == model::Norm::kLayer) w_o = w_o - w_o.mean(0, true);
      w_o = w_o * weights.attn_norm.gain.unsqueeze(1);
    }
    plain_ = stats::output_space(w_o, spec_.heads);
    // Nothing reads the sum of residual and attention where the MLP runs beside attention.
    const model::NormWeights& next =
        spec_.form == BlockForm::kPostNorm ? weights.norm1 : weights.norm2;
    normed_.reset();
    if (spec_.form != BlockForm::kParallel && next.defined()) {
      normed_ = stats::output_space(w_o, spec_.heads, next.gain, spec_.norm == model::Norm::kLayer);
    }
  }

  void measure(const forward::LayerState& state, int64_t stream,
               diagnostics::LayerInput& input) override {
    const auto s = static_cast<size_t>(stream);
    const forward::Segment& rows = state.streams[s];
    const std::vector<theory::SeenKeys> seen = seen_keys(state, stream);
    const std::vector<diagnostics::SinkVerdict> verdicts = judge_heads(input, context_.thresholds);
    const std::vector<int64_t> dominant = dominant_keys(input, verdicts);

    stats::SmoothingInput in;
    in.context = state.z.narrow(0, rows.first_row, rows.rows);
    in.v = state.v.narrow(0, rows.first_row, rows.rows);
    if (spec_.gates_output()) in.gate = gate_[s].view(in.context.sizes());
    in.step = state.resid_pre.narrow(0, rows.first_row, rows.rows) + attn_out_[s];
    if (const auto factor = branch_factor(state, in)) in.step.div_(*factor);
    in.seen = seen, in.dominant = dominant, in.lambdas = stats::kLambdas;
    // The sink, and every other token that would outweigh the rest in moments.
    std::vector<int64_t> left_out = stats::outlier_tokens(in.step);
    const int64_t key = shared_key(verdicts);
    if (key >= 0 && std::find(left_out.begin(), left_out.end(), key) == left_out.end()) {
      left_out.push_back(key);
    }
    in.left_out = left_out;
    values_[s] = stats::smoothing(in, plain_, normed_ ? &*normed_ : nullptr);
    for (size_t h = 0; h < input.heads.size(); ++h) {
      if (!input.heads[h].attention) continue;
      values_[s][h].uniformity = stats::mean_uniformity(state.sums[s][h].row_self, seen);
      values_[s][h].shared_key = key;
      input.heads[h].smoothing = &values_[s][h];
    }
  }

 private:
  /// What multiplies W_O's output on its way to the residual, a number or [T, 1]: a norm at the end
  /// of the branch divides each row by its length, which is kept as it is.
  std::optional<at::Tensor> branch_factor(const forward::LayerState& state,
                                          const stats::SmoothingInput& in) const {
    const model::BlockWeights& weights = *state.weights;
    at::Tensor factor = at::scalar_tensor(spec_.residual_scale, at::kFloat);
    if (weights.attn_norm.defined()) {
      const at::Tensor z = (in.gate.defined() ? in.context * in.gate : in.context).flatten(1);
      at::Tensor out = at::mm(z, weights.o.weight.to(at::kFloat).t());
      if (weights.o.bias.defined()) out += weights.o.bias;
      if (spec_.norm == model::Norm::kLayer) out = out - out.mean(1, true);
      factor = factor / (out.square().mean(1, true) + spec_.norm_epsilon).sqrt();
    } else if (spec_.residual_scale == 1) {
      return std::nullopt;
    }
    return factor;
  }

  const MeasurementContext context_;
  const model::ModelSpec& spec_;
  std::vector<at::Tensor> attn_out_;  // by stream, [T, D]
  std::vector<at::Tensor> gate_;      // by stream, [T, H K]
  stats::OutputSpace plain_;
  std::optional<stats::OutputSpace> normed_;
  std::vector<std::vector<stats::SmoothingValues>> values_;  // [stream][head]
};

}  // namespace

std::unique_ptr<Measurement> smoothing_measurement(const MeasurementContext& context) {
  return std::make_unique<Smoothing>(context);
}

}  // namespace sinkscope::app
