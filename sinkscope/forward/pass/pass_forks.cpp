// Forks: where they leave their stream, and what their edits change.

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

#include "sinkscope/forward/pass/pass.h"
#include "sinkscope/model/weight_shapes.h"

namespace sinkscope::forward {

int64_t Pass::base_of(int64_t stream) const {
  const auto streams = std::ssize(streams_);
  return stream < streams ? stream : forks_[static_cast<size_t>(stream - streams)].parent;
}

const Segment& Pass::segment_of(int64_t stream) const {
  return *std::find_if(whole_.begin(), whole_.end(),
                       [stream](const Segment& s) { return s.stream == stream; });
}

void Pass::make_buffers() {
  qkv_ = at::empty({rows_, spec_.qkv_width()}, at::kFloat);
  z_ = at::empty({rows_, spec_.query_width()}, at::kFloat);
  if (spec_.output_gate != model::Gate::kNone) {
    gate_ = at::empty({rows_, model::length(spec_, model::Dim::kOutputGate)}, at::kFloat);
  }
  if (spec_.pathway > 0) pathway_ = at::empty({rows_, spec_.width}, at::kFloat);
}

void Pass::join_forks(int layer) {
  std::vector<at::Tensor> parts = {resid_};
  for (size_t f = 0; f < forks_.size(); ++f) {
    if (first_layer(forks_[f]) != layer) continue;
    const Segment& parent = segment_of(forks_[f].parent);
    parts.push_back(resid_.narrow(0, parent.first_row, parent.rows));
    const int64_t rows = parent.rows;
    whole_.push_back({std::ssize(streams_) + static_cast<int64_t>(f), 0, rows_, rows});
    rows_ += rows;
  }
  if (parts.size() == 1) return;
  resid_ = at::cat(parts);
  make_buffers();
}

template <class E, class Visit>
void Pass::for_edits(int layer, Visit visit) const {
  for (const Segment& s : whole_) {
    if (s.stream < std::ssize(streams_)) continue;
    for (const Edit& edit : forks_[static_cast<size_t>(s.stream - std::ssize(streams_))].edits) {
      const E* wanted = std::get_if<E>(&edit);
      if (wanted && wanted->layer == layer) visit(*wanted, s);
    }
  }
}

void Pass::edit_residual(int layer) {
  for_edits<ChannelEdit>(layer, [&](const ChannelEdit& edit, const Segment& s) {
    const int64_t first = edit.position < 0 ? 0 : edit.position,
                  count = edit.position < 0 ? s.rows : 1;
    const at::Tensor rows = resid_.narrow(0, s.first_row + first, count);
    for (size_t i = 0; i < edit.channels.size(); ++i) {
      rows.select(1, edit.channels[i]).fill_(edit.values[i]);
    }
  });
}

namespace {

bool changes_weights(const Edit& edit) {
  return std::holds_alternative<ValueEdit>(edit) || std::holds_alternative<ColumnEdit>(edit) ||
         std::holds_alternative<WindowEdit>(edit);
}

/// The heads whose attention the edits of a fork change at `layer`.
std::set<int64_t> edited_heads(std::span<const Edit> edits, int64_t layer, int64_t heads) {
  std::set<int64_t> found;
  for (const Edit& edit : edits) {
    if (layer_of(edit) != layer || !changes_weights(edit)) continue;
    int64_t head = kAllHeads;
    if (const auto* value = std::get_if<ValueEdit>(&edit)) head = value->head;
    if (const auto* column = std::get_if<ColumnEdit>(&edit)) head = column->head;
    for (int64_t h = 0; h < heads; ++h) {
      if (head == kAllHeads || head == h) found.insert(h);
    }
  }
  return found;
}

}  // namespace

/// One head alone, with its values, key bias and window as the edits want them. Doing the head
/// again is exact where correcting z is not: next to A_is = 1 the correction divides by 1 - A_is.
void Pass::attend_edited(int layer, const Segment& s, int64_t h, std::span<const Edit> edits) {
  const int64_t width = spec_.head_width, group = h / (spec_.heads / spec_.kv_heads);
  kernels::AttentionProblem p = problem_of(s);
  at::Tensor values = v_view().narrow(0, s.first_row, s.rows).select(1, group).clone();
  const int64_t padded =
      (s.rows + kernels::kBiasAlign - 1) / kernels::kBiasAlign * kernels::kBiasAlign;
  at::Tensor bias = at::zeros({1, padded}, at::kFloat);
  std::vector<std::pair<at::Tensor, at::Tensor>> restored;  // row of z, what it was
  std::vector<const ColumnEdit*> floored;
  if (p.bias) {
    const at::Tensor known = bias_[static_cast<size_t>(base_of(s.stream))];
    bias = known[known.size(0) == 1 ? 0 : h].slice(1, 0, padded).clone();
  }
  for (const Edit& edit : edits) {
    if (layer_of(edit) != layer) continue;
    if (const auto* value = std::get_if<ValueEdit>(&edit); value && value->head == h) {
      if (value->for_others) {
        const at::Tensor row =
            z_.select(0, s.first_row + value->position).narrow(0, h * width, width);
        restored.emplace_back(row, row.clone());
      }
      if (value->value.defined()) {
        values[value->position].copy_(value->value);
      } else {
        values[value->position].zero_();
      }
    }
    if (const auto* column = std::get_if<ColumnEdit>(&edit);
        column && (column->head == h || column->head == kAllHeads)) {
      bias.select(1, column->position).add_(column->offset);
      if (column->floor > 0) floored.push_back(column);
    }
    if (const auto* window = std::get_if<WindowEdit>(&edit)) {
      p.visibility.window =
          p.visibility.window > 0 ? std::min(p.visibility.window, window->window) : window->window;
    }
  }
  p.heads = p.kv_heads = 1;
  p.q += h * width, p.k += group * width, p.out += h * width;
  p.v = values.data_ptr<float>(), p.v_stride = width;
  p.bias = bias.data_ptr<float>();
  p.bias_head_stride = bias.numel();
  p.bias_row_stride = bias.size(0) == 1 ? 0 : bias.stride(0);
  if (p.alibi_slopes) p.alibi_slopes += h;
  if (p.sink_logits) p.sink_logits += h;
  if (p.extra_key) p.extra_key += group * width;
  if (p.extra_value) p.extra_value += group * width;
  if (!sums_.empty()) {
    AttentionSums& sums = sums_[static_cast<size_t>(s.stream)][static_cast<size_t>(h)];
    sums = {};
    sums.resize(s.rows, p.has_missing());
    p.sums = &sums;
  }
  options_.attention(&p, 1, options_.threads);
  for (const auto& [row, before] : restored) row.copy_(before);
  for (const ColumnEdit* column : floored) divide_by_floor(s, h, *column);
}

/// After the exact division by what is left of each row: times min(1, left / floor).
void Pass::divide_by_floor(const Segment& s, int64_t h, const ColumnEdit& edit) {
  const Visibility& visibility = visibility_[static_cast<size_t>(s.stream)];
  const at::Tensor z =
      heads_view(z_, 0, spec_.heads).narrow(0, s.first_row, s.rows).select(1, h);  // [T, K]
  for_pattern_rows(s, [&](int64_t first, int64_t count) {
    at::Tensor missing;
    at::Tensor others = pattern_of(s, first, count, &missing)[h];  // [count, T]
    others.select(1, edit.position).zero_();
    at::Tensor left = others.sum(1, true);
    if (missing.defined()) left += missing[h];
    at::Tensor factor = (left / edit.floor).clamp_max(1);
    for (int64_t r = 0; r < count; ++r) {
      const Visibility::Range keys = visibility.keys_of(first + r, s.rows);
      const bool sees_it = keys.first <= edit.position && edit.position < keys.last;
      if (keys.last - keys.first <= (sees_it ? 1 : 0)) factor[r].fill_(1);  // stays as it is
    }
    z.narrow(0, first, count).mul_(factor);
  });
}

void Pass::edit_attention(int layer) {
  for (const Segment& s : whole_) {
    if (s.stream < std::ssize(streams_)) continue;
    const Fork& fork = forks_[static_cast<size_t>(s.stream - std::ssize(streams_))];
    for (const int64_t h : edited_heads(fork.edits, layer, spec_.heads)) {
      attend_edited(layer, s, h, fork.edits);
    }
  }
  edit_rows(layer);
}

/// Edits of z itself, after those of the weights.
void Pass::edit_rows(int layer) {
  const at::Tensor z = heads_view(z_, 0, spec_.heads);
  const auto rows_of = [&](const Segment& s, int64_t head) {
    return z.narrow(0, s.first_row, s.rows).select(1, head);
  };
  for_edits<RowEdit>(layer, [&](const RowEdit& edit, const Segment& s) {
    Visibility view;
    view.causal = edit.view == RowView::kSelf;
    view.window = view.causal ? 1 : 0;
    at::Tensor missing;
    const at::Tensor row = pattern_rows(
        q_view().narrow(0, s.first_row, s.rows), k_view().narrow(0, s.first_row, s.rows),
        score_rule(s.stream), view, edit.position, 1, &missing);  // [H, 1, T]
    const at::Tensor values = v_view()
                                  .narrow(0, s.first_row, s.rows)
                                  .repeat_interleave(spec_.heads / spec_.kv_heads, 1)
                                  .transpose(0, 1);  // [H, T, K]
    at::Tensor edited = at::bmm(row, values).squeeze(1);
    if (weights_.extra_value.defined()) {
      edited += missing.squeeze(1) *
                by_group(weights_.extra_value).repeat_interleave(spec_.heads / spec_.kv_heads, 0);
    }
    z[s.first_row + edit.position].copy_(edited);
  });
  for_edits<HeadEdit>(layer, [&](const HeadEdit& edit, const Segment& s) {
    const at::Tensor rows = rows_of(s, edit.head);
    if (edit.z.defined()) {
      rows.copy_(edit.z.expand_as(rows));
    } else {
      rows.zero_();
    }
  });
  for_edits<LocalEdit>(layer, [&](const LocalEdit& edit, const Segment& s) {
    const int64_t group = edit.head / (spec_.heads / spec_.kv_heads);
    const at::Tensor v = v_view().narrow(0, s.first_row, s.rows).select(1, group);
    for_pattern_rows(s, [&](int64_t first, int64_t count) {
      at::Tensor missing;
      const at::Tensor rows = pattern_of(s, first, count, &missing)[edit.head];  // [count, T]
      const at::Tensor self = rows.diagonal(first).slice(0, 0, count).unsqueeze(1);
      at::Tensor local = self * v.narrow(0, first, count);
      at::Tensor sink = rows.select(1, edit.sink).clone();
      if (edit.sink >= first && edit.sink < first + count) sink[edit.sink - first].zero_();
      if (edit.payload.defined()) local = local + sink.unsqueeze(1) * edit.payload;
      if (weights_.extra_value.defined()) {  // of no token, so it stays
        local = local + missing[edit.head] * by_group(weights_.extra_value)[group];
      }
      rows_of(s, edit.head).narrow(0, first, count).copy_(local);
    });
  });
}

/// The last one wins; null: none.
const PathwayEdit* Pass::pathway_edit(int layer, int64_t stream) const {
  const PathwayEdit* found = nullptr;
  for_edits<PathwayEdit>(layer, [&](const PathwayEdit& edit, const Segment& s) {
    if (s.stream == stream) found = &edit;
  });
  return found;
}

void Pass::edit_branch(int layer, Branch branch, at::Tensor& out, int64_t first) const {
  for_edits<BranchEdit>(layer, [&](const BranchEdit& edit, const Segment& s) {
    const int64_t row = s.first_row + edit.position - first;
    if (edit.branch == branch && row >= 0 && row < out.size(0)) out[row].mul_(edit.factor);
  });
}

at::Tensor Pass::before_norm(int layer, const at::Tensor& x, int64_t first) const {
  at::Tensor masked = x;
  const auto split = [&](int64_t channels, const Segment& s) {
    const int64_t begin = std::max(first, s.first_row),
                  end = std::min(first + x.size(0), s.first_row + s.rows);
    if (begin >= end) return;
    if (masked.is_same(x)) masked = x.clone();
    const at::Tensor rows = masked.narrow(0, begin - first, end - begin),
                     kept = begin == s.first_row ? rows[0].slice(0, 0, channels).clone()
                                                 : at::Tensor();
    rows.slice(1, 0, channels).zero_();
    if (!kept.defined()) return;
    rows[0].zero_();
    rows[0].slice(0, 0, channels).copy_(kept);
  };
  if (spec_.split_channels > 0) {
    for (const Segment& s : whole_) split(spec_.split_channels, s);
  }
  for_edits<SplitEdit>(layer,
                       [&](const SplitEdit& edit, const Segment& s) { split(edit.channels, s); });
  return masked;
}

}  // namespace sinkscope::forward
