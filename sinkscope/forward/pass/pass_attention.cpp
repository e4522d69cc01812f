// q, k, v of a layer, their norms and rotation, and the attention over them.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "sinkscope/forward/kernels/elementwise.h"
#include "sinkscope/forward/kernels/linear.h"
#include "sinkscope/forward/pass/grain.h"
#include "sinkscope/forward/pass/pass.h"
#include "sinkscope/model/layers/pathway.h"

namespace sinkscope::forward {

using model::QkNorm;

void Pass::norm_heads(const at::Tensor& heads, const model::NormWeights& norm) const {
  float* data = heads.data_ptr<float>();
  const int64_t count = heads.size(1), width = heads.size(2), stride = heads.stride(0);
  const float* gain = norm.gain.data_ptr<float>();
  const float* bias = norm.bias.defined() ? norm.bias.data_ptr<float>() : nullptr;
  const auto epsilon = static_cast<float>(spec_.norm_epsilon);
  // One norm over all heads, or one per head with a common gain or its own.
  const bool full = spec_.qk_norm == QkNorm::kFull;
  const int64_t norms = full ? 1 : count, normed_width = full ? count * width : width;
  const int64_t gain_step = spec_.qk_norm == QkNorm::kPerHead ? width : 0;
  at::parallel_for(0, heads.size(0), kRowGrain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      for (int64_t h = 0; h < norms; ++h) {
        float* x = data + r * stride + h * normed_width;
        if (spec_.norm == model::Norm::kRms) {
          kernels::rms_norm(x, 1, normed_width, gain + h * gain_step, epsilon, x);
        } else {
          kernels::layer_norm(x, 1, normed_width, gain + h * gain_step,
                              bias ? bias + h * gain_step : nullptr, epsilon, x);
        }
      }
    }
  });
}

void Pass::rotate_rows(int layer, int64_t first, int64_t count) {
  const int64_t stride = qkv_.size(1), heads = spec_.heads + spec_.kv_heads;
  float* data = qkv_.data_ptr<float>() + first * stride;
  for (const Segment& s : segments_of(first, count)) {
    const RotaryTable* table = rotary_of(layer, s.stream);
    if (!table) continue;
    at::parallel_for(0, s.rows, kRowGrain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const auto at = static_cast<size_t>((s.first_position + r) * table->half);
        // q and k lie side by side, so one call turns the heads of both.
        float* row = data + (s.first_row + r) * stride;
        if (table->interleaved) {
          kernels::rotate_pairs(row, heads, spec_.head_width, 2 * table->half, &table->cos[at],
                                &table->sin[at]);
        } else {
          kernels::rotate(row, heads, spec_.head_width, 2 * table->half, &table->cos[at],
                          &table->sin[at]);
        }
      }
    });
  }
}

/// The residual and, in block 0 of models that do so, the positions that it does not hold.
at::Tensor Pass::attention_input(int layer, int64_t first, int64_t count) const {
  const at::Tensor resid = resid_.narrow(0, first, count);
  if (layer > 0 || !first_norm_positions_.defined()) return resid;
  const at::Tensor x = resid.clone();
  for (const Segment& s : segments_of(first, count)) {
    const int64_t row = segment_of(base_of(s.stream)).first_row + s.first_position;
    x.narrow(0, s.first_row, s.rows).add_(first_norm_positions_.narrow(0, row, s.rows));
  }
  return x;
}

namespace {

/// sigmoid(W x + b) [n, heads, 1 or K].
at::Tensor factors(const model::Linear& gate, const at::Tensor& x, int64_t heads) {
  return kernels::linear(x, gate.weight, gate.bias).sigmoid_().view({x.size(0), heads, -1});
}

}  // namespace

/// The gates of keys and values at once, that of z when it is there; x: the block's normed input.
void Pass::apply_gates(const at::Tensor& x, int64_t first, int64_t count) {
  const auto apply = [&](const model::Linear& gate, const at::Tensor& rows) {
    if (gate.weight.defined()) rows.narrow(0, first, count).mul_(factors(gate, x, spec_.kv_heads));
  };
  apply(weights_.key_gate, k_view());
  apply(weights_.value_gate, v_view());
  if (gate_.defined()) {
    gate_.narrow(0, first, count).copy_(factors(weights_.output_gate, x, spec_.heads).flatten(1));
  }
}

at::Tensor Pass::gate_rows(int64_t first, int64_t count) const {
  if (spec_.attention_gate) {
    return heads_view(qkv_, spec_.query_width() + 2 * spec_.key_width(), spec_.heads)
        .narrow(0, first, count)
        .sigmoid();
  }
  if (!gate_.defined()) return {};
  return gate_.narrow(0, first, count)
      .view({count, spec_.heads, -1})
      .expand({count, spec_.heads, spec_.head_width})
      .contiguous();
}

/// One message for each document of each stream, which every token of it gets.
void Pass::gather_pathway(int layer) {
  if (!pathway_.defined()) return;
  for (const Segment& s : whole_) {
    const Documents& documents = documents_[static_cast<size_t>(base_of(s.stream))];
    const PathwayEdit* edit = pathway_edit(layer, s.stream);
    for (int64_t first = 0, end = 0; first < s.rows; first = end) {
      end = documents.end.empty() ? s.rows : documents.end[static_cast<size_t>(first)];
      const at::Tensor rows = pathway_.narrow(0, s.first_row + first, end - first);
      const at::Tensor message =
          edit ? edit->message
               : model::pathway_message(rows, weights_.path_select, weights_.path_value);
      if (message.defined()) {
        rows.copy_(model::pathway_delivery(rows, message, weights_.path_gate, weights_.path_out));
      } else {
        rows.zero_();
      }
    }
  }
}

void Pass::project_qkv(int layer) {
  for_chunks([&](int64_t first, int64_t count) {
    const at::Tensor part = attention_input(layer, first, count);
    const bool before = spec_.form != model::BlockForm::kPostNorm;
    const at::Tensor x = before ? normed(before_norm(layer, part, first), weights_.norm1) : part;
    offer(Tap::kNorm1, layer, x, first);
    at::Tensor qkv = qkv_.narrow(0, first, count);
    qkv.copy_(kernels::linear(x, weights_.qkv.weight, weights_.qkv.bias));
    if (spec_.qkv_clip > 0) qkv.clamp_(-spec_.qkv_clip, spec_.qkv_clip);
    apply_gates(x, first, count);
    if (pathway_.defined()) pathway_.narrow(0, first, count).copy_(x);
    offer(Tap::kQ, layer, q_view().narrow(0, first, count), first);
    offer(Tap::kK, layer, k_view().narrow(0, first, count), first);
    offer(Tap::kV, layer, v_view().narrow(0, first, count), first);
    if (weights_.q_norm.defined()) {
      norm_heads(q_view().narrow(0, first, count), weights_.q_norm);
      norm_heads(k_view().narrow(0, first, count), weights_.k_norm);
    }
    rotate_rows(layer, first, count);
  });
  offer(Tap::kRotQ, layer, q_view(), 0);
  offer(Tap::kRotK, layer, k_view(), 0);
}

namespace {

int64_t padded(int64_t tokens) {
  return (tokens + kernels::kBiasAlign - 1) / kernels::kBiasAlign * kernels::kBiasAlign;
}

/// The table of offsets [entries, H] for another grid than it was made for; its last three entries
/// belong to the class token.
at::Tensor interpolated_offsets(const at::Tensor& table, const model::Vision& vision,
                                PatchGrid grid) {
  const int64_t rows = vision.image_height / vision.patch,
                columns = vision.image_width / vision.patch, heads = table.size(1);
  if (grid.rows == rows && grid.columns == columns) return table;
  const at::Tensor map = table.slice(0, 0, table.size(0) - 3)
                             .view({1, 2 * rows - 1, 2 * columns - 1, heads})
                             .permute({0, 3, 1, 2});
  const at::Tensor resized =
      at::upsample_bilinear2d(map, {2 * grid.rows - 1, 2 * grid.columns - 1}, false);
  return at::cat(
      {resized.permute({0, 2, 3, 1}).reshape({-1, heads}), table.slice(0, table.size(0) - 3)});
}

}  // namespace

/// beit: a bias per head for every pair of patch offsets, and three entries for pairs with the
/// class token: class to patch, patch to class, class to itself. [H, T, T rounded up].
at::Tensor Pass::relative_bias(int layer, PatchGrid grid) const {
  at::Tensor table;  // [entries, H]
  if (spec_.relative_bias) table = model_.weights().load("blocks.{}.relative_bias", layer);
  if (spec_.shared_relative_bias) {
    const at::Tensor shared = model_.weights().load("relative_bias");
    table = table.defined() ? table + shared : shared;
  }
  table = interpolated_offsets(table, spec_.vision, grid);
  const int64_t height = grid.rows, width = grid.columns;
  const int64_t tokens = 1 + height * width, entries = table.size(0);
  at::Tensor index = at::empty({tokens, tokens}, at::kLong);
  auto at = index.accessor<int64_t, 2>();
  for (int64_t i = 0; i < tokens; ++i) {
    for (int64_t j = 0; j < tokens; ++j) {
      const int64_t rows = (i - 1) / width - (j - 1) / width + height - 1,
                    columns = (i - 1) % width - (j - 1) % width + width - 1;
      at[i][j] = i == 0 && j == 0 ? entries - 1
                 : i == 0         ? entries - 3
                 : j == 0         ? entries - 2
                                  : rows * (2 * width - 1) + columns;
    }
  }
  at::Tensor bias = at::zeros({spec_.heads, tokens, padded(tokens)}, at::kFloat);
  bias.narrow(2, 0, tokens)
      .copy_(table.index_select(0, index.flatten()).view({tokens, tokens, -1}).permute({2, 0, 1}));
  return bias;
}

/// falcon: the bias of the key alone, rounded to bfloat16 as its models were trained: [H, 1, T
/// rounded up].
at::Tensor Pass::rounded_alibi(const Stream& stream) const {
  const int64_t tokens = tokens_of(spec_, stream);
  const at::Tensor slopes = at::tensor(model::alibi_slopes(spec_.heads)).to(at::kBFloat16),
                   positions = at::tensor(positions_of(stream, tokens)).to(at::kBFloat16);
  at::Tensor bias = at::zeros({spec_.heads, 1, padded(tokens)}, at::kFloat);
  bias.narrow(2, 0, tokens)
      .copy_((slopes.view({-1, 1, 1}) * positions).to(at::kFloat) * spec_.score_scale);
  return bias;
}

void Pass::prepare_scores(int layer) {
  visibility_.clear();
  for (const Documents& documents : documents_) {
    visibility_.push_back(visibility_of(spec_, layer, documents));
  }
  for (const Fork& fork : forks_) {
    visibility_.push_back(visibility_[static_cast<size_t>(fork.parent)]);
  }
  const bool alibi = spec_.positions == model::Positions::kAlibi;
  if (alibi && !spec_.alibi_rounded) slopes_ = at::tensor(model::alibi_slopes(spec_.heads));
  if (alibi && spec_.alibi_rounded && layer == 0) {
    for (const Stream& stream : streams_) bias_.push_back(rounded_alibi(stream));
  }
  if (!spec_.relative_bias && !(spec_.shared_relative_bias && layer == 0)) return;
  std::map<std::pair<int64_t, int64_t>, at::Tensor> of_grid;
  bias_.clear();
  for (const Stream& stream : streams_) {
    const PatchGrid grid = grid_of(spec_, stream);
    at::Tensor& bias = of_grid[{grid.rows, grid.columns}];
    if (!bias.defined()) bias = relative_bias(layer, grid);
    bias_.push_back(bias);
  }
}

ScoreRule Pass::score_rule(int64_t stream) const {
  return {spec_.score_scale,
          spec_.score_softcap,
          slopes_,
          bias_.empty() ? at::Tensor() : bias_[static_cast<size_t>(base_of(stream))],
          weights_.sinks,
          spec_.scores,
          by_group(weights_.extra_key)};
}

kernels::AttentionProblem Pass::problem_of(const Segment& s) const {
  const auto data = [](const at::Tensor& t) { return t.defined() ? t.data_ptr<float>() : nullptr; };
  const auto base = static_cast<size_t>(base_of(s.stream));
  kernels::AttentionProblem p;
  p.tokens = s.rows;
  p.heads = spec_.heads, p.kv_heads = spec_.kv_heads, p.width = spec_.head_width;
  p.q = qkv_.data_ptr<float>() + s.first_row * qkv_.size(1);
  p.k = p.q + spec_.query_width();
  p.v = p.k + spec_.key_width();
  p.q_stride = p.k_stride = p.v_stride = qkv_.size(1);
  p.out = z_.data_ptr<float>() + s.first_row * z_.size(1);
  p.out_stride = z_.size(1);
  p.scale = static_cast<float>(spec_.score_scale);
  p.softcap = static_cast<float>(spec_.score_softcap);
  p.alibi_slopes = data(slopes_);
  p.scores = spec_.scores;
  p.sink_logits = data(weights_.sinks);
  p.extra_key = data(weights_.extra_key), p.extra_value = data(weights_.extra_value);
  if (!bias_.empty()) {
    p.bias = data(bias_[base]);
    p.bias_head_stride = bias_[base].stride(0);
    p.bias_row_stride = bias_[base].size(1) == 1 ? 0 : bias_[base].stride(1);
  }
  p.visibility = visibility_[static_cast<size_t>(s.stream)];
  p.event_mass = options_.event_mass;
  return p;
}

void Pass::attend(int layer) {
  prepare_scores(layer);
  const bool count = std::any_of(observers_.begin(), observers_.end(),
                                 [&](Observer* o) { return o->wants_sums(layer); });
  sums_.assign(count ? streams_.size() + forks_.size() : 0, {});
  std::vector<kernels::AttentionProblem> problems;
  for (const Segment& s : whole_) {
    problems.push_back(problem_of(s));
    if (!count) continue;
    std::vector<AttentionSums>& heads = sums_[static_cast<size_t>(s.stream)];
    heads.resize(static_cast<size_t>(spec_.heads));
    for (AttentionSums& head : heads) head.resize(s.rows, problems.back().has_missing());
    problems.back().sums = heads.data();
  }
  options_.attention(problems.data(), static_cast<int64_t>(problems.size()), options_.threads);
  edit_attention(layer);
  gather_pathway(layer);
  offer(Tap::kZ, layer, heads_view(z_, 0, spec_.heads), 0);
  offer_pattern(layer);
}

at::Tensor Pass::pattern_of(const Segment& s, int64_t first, int64_t count,
                            at::Tensor* missing) const {
  return pattern_rows(q_view().narrow(0, s.first_row, s.rows),
                      k_view().narrow(0, s.first_row, s.rows), score_rule(s.stream),
                      visibility_[static_cast<size_t>(s.stream)], first, count, missing);
}

void Pass::offer_pattern(int layer) const {
  if (!wanted(Tap::kPattern, layer)) return;
  for (const Segment& s : whole_) {
    for_pattern_rows(s, [&](int64_t first, int64_t count) {
      const Segment segment{s.stream, first, 0, count};
      offer(Tap::kPattern, layer, pattern_of(s, first, count), std::span(&segment, 1));
    });
  }
}

}  // namespace sinkscope::forward
