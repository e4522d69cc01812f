#include "sinkscope/app/measure.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <algorithm>

namespace sinkscope::app {

Measure::Measure(const model::ModelSpec& spec, const MeasureOptions& options,
                 std::span<const store::SequenceInfo* const> sequences)
    : spec_(spec),
      options_(options),
      sequences_(sequences),
      curves_(static_cast<size_t>(spec.layers)),
      measurements_(make_measurements(options.diagnostics, {spec, options_.thresholds, sequences,
                                                            options_.seed, options_.types})) {
  for (size_t s = 0; s < sequences.size(); ++s) {
    records_.emplace_back(static_cast<int>(spec.layers), static_cast<int>(spec.heads));
  }
}

bool Measure::wants(forward::Tap tap, int layer) const {
  if (forward::tap_info(tap).per_layer && !options_.layers.contains(layer)) return false;
  return std::any_of(measurements_.begin(), measurements_.end(),
                     [&](const auto& m) { return m->wants(tap, layer); });
}

bool Measure::wants_sums(int layer) const { return options_.layers.contains(layer); }

void Measure::on_activation(const forward::Activation& activation) {
  for (const auto& measurement : measurements_) {
    if (measurement->wants(activation.tap, activation.layer)) {
      measurement->on_activation(activation);
    }
  }
}

bool Measure::head_chosen(int layer, int head) const {
  return !options_.heads || options_.heads->contains({layer, head});
}

Measure::Attention Measure::attention_of(const forward::LayerState& state) const {
  const auto streams = static_cast<int64_t>(state.streams.size());
  const int64_t heads = spec_.heads;
  Attention attention;
  for (const forward::Segment& s : state.streams) {
    attention.emplace_back(static_cast<size_t>(heads),
                           stats::HeadAttention(s.rows, options_.thresholds.event_mass));
  }
  at::parallel_for(0, streams * heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto s = static_cast<size_t>(i / heads), h = static_cast<size_t>(i % heads);
      attention[s][h].add(state.sums[s][h], state.visibility[s]);
    }
  });
  return attention;
}

void Measure::judge(const Attention& attention, const forward::LayerState& state, int64_t stream) {
  const auto s = static_cast<size_t>(stream);
  diagnostics::LayerInput input;
  input.layer = state.layer;
  input.tokens = state.streams[s].rows;
  input.heads.resize(static_cast<size_t>(spec_.heads));
  for (int h = 0; h < static_cast<int>(spec_.heads); ++h) {
    const auto at = static_cast<size_t>(h);
    if (head_chosen(state.layer, h)) input.heads[at].attention = &attention[s][at].value();
  }
  for (const auto& measurement : measurements_) measurement->measure(state, stream, input);
  for (const diagnostics::Diagnostic* diagnostic : options_.diagnostics) {
    if (diagnostic->measure_layer) {
      diagnostic->measure_layer(input, options_.thresholds, records_[s]);
    }
  }
}

void Measure::add_curves(const Attention& attention, int index) {
  store::Curve& curve = curves_[static_cast<size_t>(index)];
  for (const store::SequenceInfo* sequence : sequences_) {
    curve.positions = std::max<int64_t>(curve.positions, sequence->tokens());
  }
  const auto positions = static_cast<size_t>(curve.positions);
  curve.mass.assign(static_cast<size_t>(spec_.heads) * positions, 0);
  curve.queries.assign(positions, 0);
  for (const std::vector<stats::HeadAttention>& heads : attention) {
    for (size_t h = 0; h < heads.size(); ++h) {
      const stats::AttentionValues& value = heads[h].value();
      for (size_t k = 0; k < value.key_mass.size(); ++k) {
        curve.mass[h * positions + k] += value.key_mass[k];
        if (h == 0) curve.queries[k] += static_cast<double>(value.key_queries[k]);
      }
    }
  }
}

void Measure::on_layer(const forward::LayerState& state) {
  if (!options_.layers.contains(state.layer)) return;
  const auto streams = static_cast<int64_t>(state.streams.size());
  const Attention attention = attention_of(state);
  for (const auto& measurement : measurements_) measurement->begin_layer(state);
  // One long stream is shared out inside the products; many short ones go to a thread each.
  if (streams < at::get_num_threads()) {
    for (int64_t s = 0; s < streams; ++s) judge(attention, state, s);
  } else {
    at::parallel_for(0, streams, 1, [&](int64_t begin, int64_t end) {
      const c10::NoGradGuard no_grad;
      for (int64_t s = begin; s < end; ++s) judge(attention, state, s);
    });
  }
  for (const auto& measurement : measurements_) measurement->end_layer();
  add_curves(attention, state.layer);
}

void Measure::set_advice(size_t stream, const stats::AdviceValues& advice) {
  advice_[stream] = advice;
}

void Measure::finish() {
  for (const auto& measurement : measurements_) measurement->add_run_sums(run_sums_);
  for (size_t s = 0; s < records_.size(); ++s) {
    diagnostics::SequenceInput input;
    input.tokens = sequences_[s]->tokens();
    if (const auto found = advice_.find(s); found != advice_.end()) input.advice = &found->second;
    for (const auto& measurement : measurements_) {
      measurement->measure_sequence(static_cast<int64_t>(s), input);
    }
    for (const diagnostics::Diagnostic* diagnostic : options_.diagnostics) {
      if (diagnostic->measure_sequence) {
        diagnostic->measure_sequence(input, options_.thresholds, records_[s]);
      }
    }
  }
}

}  // namespace sinkscope::app
