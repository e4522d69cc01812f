#include "sinkscope/forward/recorder.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sinkscope::forward {

namespace {

/// Queries that see each key, as a divisor: a key that none sees keeps its sum of 0.
at::Tensor queries(const Visibility& visibility, int64_t tokens) {
  return at::tensor(visibility.queries_of_keys(tokens)).to(at::kDouble).clamp_min(1);
}

}  // namespace

void Recorder::on_activation(const Activation& activation) {
  const bool pattern = activation.tap == Tap::kPattern;  // [H, R, T]; everything else [R, ...]
  for (const Segment& s : activation.segments) {
    streams_.resize(std::max(streams_.size(), static_cast<size_t>(s.stream) + 1));
    at::Tensor& kept =
        streams_[static_cast<size_t>(s.stream)][tap_name(activation.tap, activation.layer)];
    const at::Tensor rows =
        pattern ? activation.rows : activation.rows.narrow(0, s.first_row, s.rows);
    kept = kept.defined() ? at::cat({kept, rows}, pattern ? 1 : 0) : rows.clone();
  }
}

void Recorder::on_layer(const LayerState& state) {
  for (size_t stream = 0; stream < state.sums.size(); ++stream) {
    const std::vector<AttentionSums>& heads = state.sums[stream];
    if (heads.empty()) continue;  // a fork that has not left its stream yet
    const auto tokens = static_cast<int64_t>(heads[0].row_self.size());
    at::Tensor mass = at::empty({static_cast<int64_t>(heads.size()), tokens}, at::kDouble);
    for (size_t h = 0; h < heads.size(); ++h) {
      std::copy(heads[h].key_mass.begin(), heads[h].key_mass.end(),
                mass.data_ptr<double>() + static_cast<int64_t>(h) * tokens);
    }
    alpha_[{stream, state.layer}] = mass / queries(state.visibility[stream], tokens);
  }
}

at::Tensor alpha_of_pattern(const at::Tensor& pattern, const Visibility& visibility) {
  return pattern.to(at::kDouble).sum(1) / queries(visibility, pattern.size(2));
}

}  // namespace sinkscope::forward
