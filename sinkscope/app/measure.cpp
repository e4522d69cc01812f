#include "sinkscope/app/measure.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "sinkscope/stats/head_attention.h"
#include "sinkscope/stats/qk_spectrum.h"
#include "sinkscope/stats/update_moments.h"
#include "sinkscope/stats/value_norms.h"

namespace sinkscope::app {
namespace {

using diagnostics::kNoData;
using forward::Tap;

bool selected(const MeasureOptions& options, std::string_view name) {
  return std::any_of(options.diagnostics.begin(), options.diagnostics.end(),
                     [&](const auto* d) { return d->name == name; });
}

double top_share(const std::vector<double>& sigma) {
  double sum = 0;
  for (const double s : sigma) sum += s;
  return sum > 0 ? sigma.front() / sum : kNoData;
}

}  // namespace

struct Measure::Layer {
  std::vector<std::vector<stats::HeadAttention>> attention;  // [stream][head]
  std::vector<std::vector<stats::ValueNorms>> norms;         // [stream][head]
  std::vector<stats::ResidualValues> residual;               // [stream]
  std::vector<double> qk_top_share;                          // [head]
  at::Tensor gram;                                           // [H, K, K]
};

Measure::Measure(const model::ModelSpec& spec, const MeasureOptions& options,
                 std::span<const store::SequenceInfo* const> sequences)
    : spec_(spec),
      options_(options),
      sequences_(sequences),
      curves_(static_cast<size_t>(spec.layers)),
      embedding_(sequences.size()),
      loss_(sequences.size()),
      attn_out_first_(sequences.size(), kNoData),
      mlp_out_first_(sequences.size(), kNoData) {
  for (size_t s = 0; s < sequences.size(); ++s) {
    records_.emplace_back(static_cast<int>(spec.layers), static_cast<int>(spec.heads));
  }
}

bool Measure::wants(Tap tap, int layer) const {
  switch (tap) {
    case Tap::kEmbed: return selected(options_, "residual");
    case Tap::kNorm1: return selected(options_, "similarity") && options_.layers.contains(layer);
    case Tap::kAttnOut:
    case Tap::kMlpOut: return selected(options_, "branches") && options_.layers.contains(layer);
    // What a classifier or a masked model says is no next token.
    case Tap::kLogits: return spec_.causal && selected(options_, "loss");
    default: return false;
  }
}

bool Measure::wants_sums(int layer) const { return options_.layers.contains(layer); }

void Measure::on_activation(const forward::Activation& activation) {
  const int64_t width = activation.rows.size(-1);
  const float* data = activation.rows.data_ptr<float>();
  const auto segments = activation.segments;
  if (activation.tap == Tap::kLogits) {
    for (const forward::Segment& s : segments) {
      const std::vector<int32_t>& ids = sequences_[static_cast<size_t>(s.stream)]->ids;
      std::vector<int32_t> next(static_cast<size_t>(s.rows), -1);
      for (int64_t r = 0; r < s.rows; ++r) {
        const auto after = static_cast<size_t>(s.first_position + r + 1);
        if (after < ids.size()) next[static_cast<size_t>(r)] = ids[after];
      }
      loss_[static_cast<size_t>(s.stream)].add(activation.rows.narrow(0, s.first_row, s.rows),
                                               next);
    }
    return;
  }
  if (activation.tap == Tap::kAttnOut || activation.tap == Tap::kMlpOut) {
    std::vector<double>& first = activation.tap == Tap::kAttnOut ? attn_out_first_ : mlp_out_first_;
    for (const forward::Segment& s : segments) {
      if (s.first_position != 0) continue;
      first[static_cast<size_t>(s.stream)] = stats::length(data + s.first_row * width, width);
    }
    return;
  }
  // on_layer() empties it, so that every layer starts afresh.
  if (activation.tap == Tap::kNorm1 && similarity_.empty()) {
    similarity_.assign(sequences_.size(), stats::Similarity(width));
  }
  at::parallel_for(0, static_cast<int64_t>(segments.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const forward::Segment& s = segments[static_cast<size_t>(i)];
      const float* rows = data + s.first_row * width;
      const auto stream = static_cast<size_t>(s.stream);
      if (activation.tap == Tap::kNorm1) {
        similarity_[stream].add(rows, s.rows);
      } else {
        embedding_[stream] =
            stats::residual_values(rows, s.rows, width, options_.thresholds.massive_abs);
      }
    }
  });
}

bool Measure::head_chosen(int layer, int head) const {
  return !options_.heads || options_.heads->contains({layer, head});
}

void Measure::judge(const Layer& layer, const forward::LayerState& state, int64_t stream) {
  const auto s = static_cast<size_t>(stream);
  const forward::Segment& rows = state.streams[s];
  diagnostics::LayerInput input;
  input.layer = state.layer;
  input.tokens = rows.rows;
  input.residual_in = state.layer == 0 && !embedding_[s].norm.empty() ? &embedding_[s] : nullptr;
  input.residual_out = &layer.residual[s];
  input.attn_out_norm_first = attn_out_first_[s];
  input.mlp_out_norm_first = mlp_out_first_[s];
  stats::SimilarityValues similarity;
  if (!similarity_.empty()) {
    similarity = similarity_[s].value();
    input.normed_in = &similarity;
  }
  for (int h = 0; h < static_cast<int>(spec_.heads); ++h) {
    stats::HeadValues head;
    head.qk_top_share =
        layer.qk_top_share.empty() ? kNoData : layer.qk_top_share[static_cast<size_t>(h)];
    if (head_chosen(state.layer, h)) {
      head.attention = &layer.attention[s][static_cast<size_t>(h)].value();
      head.norms = &layer.norms[s][static_cast<size_t>(h)];
      head.update = [&layer, &state, rows, h] {
        stats::UpdateMoments moments(state.z.size(2));
        moments.add(state.z.narrow(0, rows.first_row, rows.rows).select(1, h));
        return moments.value(layer.gram[h]);
      };
    }
    input.heads.push_back(std::move(head));
  }
  for (const diagnostics::Diagnostic* diagnostic : options_.diagnostics) {
    if (diagnostic->measure_layer)
      diagnostic->measure_layer(input, options_.thresholds, records_[s]);
  }
}

void Measure::add_curves(const Layer& layer, int index) {
  store::Curve& curve = curves_[static_cast<size_t>(index)];
  for (const store::SequenceInfo* sequence : sequences_) {
    curve.positions = std::max<int64_t>(curve.positions, sequence->tokens());
  }
  const auto positions = static_cast<size_t>(curve.positions);
  curve.mass.assign(static_cast<size_t>(spec_.heads) * positions, 0);
  curve.queries.assign(positions, 0);
  for (const std::vector<stats::HeadAttention>& heads : layer.attention) {
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
  const int64_t heads = spec_.heads;
  Layer layer;
  layer.gram = stats::output_gram(state.w_o, heads);
  layer.residual.resize(static_cast<size_t>(streams));
  layer.norms.resize(static_cast<size_t>(streams));
  if (selected(options_, "qk")) {
    for (const auto& sigma : stats::qk_spectrum(state.w_q, state.w_k, heads, spec_.kv_heads)) {
      layer.qk_top_share.push_back(top_share(sigma));
    }
  }
  for (const forward::Segment& s : state.streams) {
    layer.attention.emplace_back(static_cast<size_t>(heads),
                                 stats::HeadAttention(s.rows, options_.thresholds.event_mass));
  }
  at::parallel_for(0, streams * heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto s = static_cast<size_t>(i / heads), h = static_cast<size_t>(i % heads);
      layer.attention[s][h].add(state.sums[s][h], state.visibility[s]);
    }
  });
  // One long stream is shared out inside the products; many short ones go to a thread each.
  const auto each = [&](int64_t stream) {
    const forward::Segment& s = state.streams[static_cast<size_t>(stream)];
    const float* rows = state.resid_post.data_ptr<float>() + s.first_row * spec_.width;
    layer.residual[static_cast<size_t>(stream)] =
        stats::residual_values(rows, s.rows, spec_.width, options_.thresholds.massive_abs);
    layer.norms[static_cast<size_t>(stream)] =
        stats::value_norms(state.v.narrow(0, s.first_row, s.rows), layer.gram);
    judge(layer, state, stream);
  };
  if (streams < at::get_num_threads()) {
    for (int64_t s = 0; s < streams; ++s) each(s);
  } else {
    at::parallel_for(0, streams, 1, [&](int64_t begin, int64_t end) {
      const c10::NoGradGuard no_grad;
      for (int64_t s = begin; s < end; ++s) each(s);
    });
  }
  add_curves(layer, state.layer);
  similarity_.clear();
}

void Measure::finish() {
  for (size_t s = 0; s < records_.size(); ++s) {
    diagnostics::SequenceInput input;
    input.tokens = sequences_[s]->tokens();
    input.loss_sum = loss_[s].tokens() > 0 ? loss_[s].sum() : kNoData;
    input.loss_tokens = loss_[s].tokens();
    for (const diagnostics::Diagnostic* diagnostic : options_.diagnostics) {
      if (diagnostic->measure_sequence)
        diagnostic->measure_sequence(input, options_.thresholds, records_[s]);
    }
  }
}

}  // namespace sinkscope::app
