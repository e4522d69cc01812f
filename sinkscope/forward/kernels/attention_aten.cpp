#include "sinkscope/forward/kernels/attention_aten.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/xlogy.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "sinkscope/forward/kernels/attention.h"
#include "sinkscope/forward/kernels/attention_check.h"

namespace sinkscope::forward::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Query rows [first, first + rows) and the keys [key_first, key_last) that any of them sees.
struct TensorBlock {
  int64_t first = 0, rows = 0;
  int64_t key_first = 0, key_last = 0;
  at::Tensor distance;  ///< [R, S] key minus query
  at::Tensor visible;   ///< [R, S]
  at::Tensor any_key;   ///< [R] whether the row sees a key
};

at::Tensor column(const std::vector<int64_t>& values, const at::Device& device) {
  return at::from_blob(const_cast<int64_t*>(values.data()),
                       {static_cast<int64_t>(values.size()), 1}, at::kLong)
      .clone()
      .to(device);
}

TensorBlock make_block(const TensorAttention& attention, int64_t first) {
  const int64_t tokens = attention.q.size(0);
  TensorBlock block;
  block.first = first;
  block.rows = std::min(attention.block_rows, tokens - first);
  block.key_first = tokens;
  std::vector<int64_t> begin, end;
  for (int64_t i = first; i < first + block.rows; ++i) {
    Visibility::Range range = attention.visibility.keys_of(i, tokens);
    range = {std::max<int64_t>(range.first, 0), std::min(range.last, tokens)};
    begin.push_back(range.first);
    end.push_back(range.last);
    if (range.first >= range.last) continue;
    block.key_first = std::min(block.key_first, range.first);
    block.key_last = std::max(block.key_last, range.last);
  }
  if (block.key_first >= block.key_last) return block;

  const at::Device device = attention.q.device();
  const auto integers = at::TensorOptions(device).dtype(at::kLong);
  const at::Tensor keys = at::arange(block.key_first, block.key_last, integers).unsqueeze(0);
  const at::Tensor from = column(begin, device), to = column(end, device);
  block.distance = keys - at::arange(first, first + block.rows, integers).unsqueeze(1);
  block.visible = keys.ge(from).logical_and(keys.lt(to));
  block.any_key = from.lt(to).squeeze(1);
  return block;
}

/// [T, G, K] -> the block's keys as [G, S, K].
at::Tensor block_keys(const at::Tensor& tensor, const TensorBlock& block) {
  return tensor.slice(0, block.key_first, block.key_last).transpose(0, 1);
}

/// Scaled and capped products of the block's queries with keys [G, S, K]: [H, R, S].
at::Tensor block_products(const TensorAttention& attention, const TensorBlock& block,
                          const at::Tensor& keys) {
  const int64_t heads = attention.q.size(1), width = attention.q.size(2);
  const int64_t kv_heads = attention.k.size(1);
  const at::Tensor q = attention.q.slice(0, block.first, block.first + block.rows)
                           .transpose(0, 1)
                           .reshape({kv_heads, heads / kv_heads * block.rows, width});
  at::Tensor products = at::matmul(q, keys.transpose(1, 2))
                            .reshape({heads, block.rows, keys.size(1)})
                            .mul_(attention.scale);
  if (attention.softcap > 0) products.div_(attention.softcap).tanh_().mul_(attention.softcap);
  return products;
}

/// Logits [H, R, S], minus infinity at hidden keys.
at::Tensor block_logits(const TensorAttention& attention, const TensorBlock& block) {
  at::Tensor logits = block_products(attention, block, block_keys(attention.k, block));
  if (attention.alibi_slopes.defined()) {
    logits.add_(attention.alibi_slopes.view({-1, 1, 1}) * block.distance);
  }
  if (attention.bias.defined()) {
    logits.add_(attention.bias.slice(1, block.first, block.first + block.rows)
                    .slice(2, block.key_first, block.key_last));
  }
  return logits.masked_fill_(block.visible.logical_not(), -kInfinity);
}

struct Rows {
  at::Tensor weights;  ///< [H, R, S]
  at::Tensor missing;  ///< [H, R]; undefined without a sink logit or extra key
};

/// What joins the softmax beside the visible keys, broadcast with [H, R, 1]; undefined: nothing.
at::Tensor missing_logits(const TensorAttention& attention, const TensorBlock& block) {
  if (attention.sink_logits.defined()) return attention.sink_logits.view({-1, 1, 1});
  if (!attention.extra_key.defined()) return {};
  return block_products(attention, block, attention.extra_key.unsqueeze(1));
}

Rows block_softmax(const TensorAttention& attention, const TensorBlock& block) {
  at::Tensor weights = block_logits(attention, block);
  at::Tensor max = weights.amax(-1, /*keepdim=*/true);
  at::Tensor sink = missing_logits(attention, block);
  if (sink.defined()) max = at::maximum(max, sink);
  max.masked_fill_(max.eq(-kInfinity), 0);  // a row without keys: exponentials of exactly 0
  weights.sub_(max).exp_();
  at::Tensor total = weights.sum(-1, /*keepdim=*/true);
  Rows result;
  if (sink.defined()) {
    sink = sink.sub(max).exp_();
    total.add_(sink);
  }
  total.masked_fill_(total.eq(0), 1);
  if (sink.defined()) result.missing = sink.div_(total).squeeze(-1).mul_(block.any_key);
  result.weights = weights.div_(total);
  return result;
}

Rows block_weights(const TensorAttention& attention, const TensorBlock& block) {
  const model::ScoreForm& form = attention.scores;
  const auto clip = [&form](at::Tensor& share) {
    share.mul_(form.stretch_high - form.stretch_low).add_(form.stretch_low).clamp_(0, 1);
  };
  Rows rows;
  switch (form.kind) {  // a hidden key's logit is minus infinity: it gets 0 by every form
    case model::ScoreKind::kSoftmax: return block_softmax(attention, block);
    case model::ScoreKind::kClipped:
      rows = block_softmax(attention, block);
      clip(rows.weights);
      if (rows.missing.defined()) clip(rows.missing);
      break;
    case model::ScoreKind::kSigmoid:
      rows.weights = block_logits(attention, block).add_(form.bias).sigmoid_();
      break;
    case model::ScoreKind::kRelu:
      rows.weights = block_logits(attention, block)
                         .relu_()
                         .div_(block.visible.sum(-1, /*keepdim=*/true).clamp_min(1));
      break;
  }
  return rows;
}

void add_sums(const TensorAttention& attention, const TensorBlock& block, const Rows& found,
              TensorAttentionResult& result) {
  const at::Tensor& p = found.weights;
  const auto columns = [&block](const at::Tensor& sums) {
    return sums.slice(1, block.key_first, block.key_last);
  };
  const auto rows = [&block](const at::Tensor& values) {
    return values.slice(1, block.first, block.first + block.rows);
  };
  const at::Tensor square = p.square();
  columns(result.key_mass).add_(p.sum(1, false, at::kDouble));
  columns(result.key_mass_sq).add_(square.sum(1, false, at::kDouble));
  columns(result.key_events).add_(p.ge(attention.event_mass).sum(1));
  rows(result.row_square).copy_(square.sum(-1, false, at::kDouble));
  rows(result.row_entropy).copy_(at::xlogy(p, p).sum(-1, false, at::kDouble).neg_());
  rows(result.row_self).copy_(p.masked_fill(block.distance.ne(0), 0).sum(-1));
  if (found.missing.defined()) rows(result.row_missing).copy_(found.missing);
}

TensorAttentionResult empty_result(const TensorAttention& attention) {
  TensorAttentionResult result;
  result.out = at::zeros(attention.q.sizes(), attention.q.options());
  if (!attention.with_sums) return result;
  const auto zeros = [&attention](at::ScalarType type) {
    return at::zeros({attention.q.size(1), attention.q.size(0)}, attention.q.options().dtype(type));
  };
  result.key_mass = zeros(at::kDouble);
  result.key_mass_sq = zeros(at::kDouble);
  result.key_events = zeros(at::kLong);
  result.row_entropy = zeros(at::kDouble);
  result.row_square = zeros(at::kDouble);
  result.row_self = zeros(at::kDouble);
  if (attention.sink_logits.defined() || attention.extra_key.defined())
    result.row_missing = zeros(at::kDouble);
  return result;
}

/// A strided view of a problem's buffer; nothing is copied and, but for `out`, nothing written.
at::Tensor view(const float* data, int64_t tokens, int64_t heads, int64_t width, int64_t stride) {
  return at::from_blob(const_cast<float*>(data), {tokens, heads, width}, {stride, width, 1},
                       at::kFloat);
}

at::Tensor view(const float* data, at::IntArrayRef shape) {
  return data ? at::from_blob(const_cast<float*>(data), shape, at::kFloat) : at::Tensor();
}

template <typename T>
void copy_row(const at::Tensor& from, int64_t head, at::ScalarType type, std::vector<T>& to) {
  const at::Tensor row = from.select(0, head).to(at::kCPU, type).contiguous();
  std::copy_n(row.data_ptr<T>(), row.numel(), to.begin());
}

void copy_sums(const TensorAttentionResult& result, int64_t head, AttentionSums& sums) {
  copy_row(result.key_mass, head, at::kDouble, sums.key_mass);
  copy_row(result.key_mass_sq, head, at::kDouble, sums.key_mass_sq);
  copy_row(result.key_events, head, at::kInt, sums.key_events);
  copy_row(result.row_entropy, head, at::kFloat, sums.row_entropy);
  copy_row(result.row_square, head, at::kFloat, sums.row_square);
  copy_row(result.row_self, head, at::kFloat, sums.row_self);
  if (result.row_missing.defined()) {
    copy_row(result.row_missing, head, at::kFloat, sums.row_missing);
  }
}

class ThreadCount {
 public:
  explicit ThreadCount(int threads) : before_(at::get_num_threads()) {
    at::set_num_threads(std::max(threads, 1));
  }
  ~ThreadCount() { at::set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

void run_problem(const AttentionProblem& p) {
  TensorAttention attention;
  attention.q = view(p.q, p.tokens, p.heads, p.width, p.q_stride);
  attention.k = view(p.k, p.tokens, p.kv_heads, p.width, p.k_stride);
  attention.v = view(p.v, p.tokens, p.kv_heads, p.width, p.v_stride);
  attention.scale = p.scale;
  attention.softcap = p.softcap;
  attention.scores = p.scores;
  attention.alibi_slopes = view(p.alibi_slopes, {p.heads});
  attention.sink_logits = view(p.sink_logits, {p.heads});
  attention.extra_key = view(p.extra_key, {p.kv_heads, p.width});
  attention.extra_value = view(p.extra_value, {p.kv_heads, p.width});
  if (p.bias) {
    attention.bias = at::from_blob(const_cast<float*>(p.bias), {p.heads, p.tokens, p.tokens},
                                   {p.bias_head_stride, p.bias_row_stride, 1}, at::kFloat);
  }
  attention.visibility = p.visibility;
  attention.event_mass = p.event_mass;
  attention.with_sums = p.sums != nullptr;
  const TensorAttentionResult result = attention_tensors(attention);
  view(p.out, p.tokens, p.heads, p.width, p.out_stride).copy_(result.out);
  if (!p.sums) return;
  for (int64_t h = 0; h < p.heads; ++h) copy_sums(result, h, p.sums[h]);
}

}  // namespace

TensorAttentionResult attention_tensors(const TensorAttention& attention) {
  const int64_t tokens = attention.q.size(0), heads = attention.q.size(1);
  const int64_t width = attention.q.size(2), kv_heads = attention.k.size(1);
  TensorAttentionResult result = empty_result(attention);
  for (int64_t first = 0; first < tokens; first += attention.block_rows) {
    const TensorBlock block = make_block(attention, first);
    if (block.key_first >= block.key_last) continue;
    const Rows rows = block_weights(attention, block);
    const int64_t keys = block.key_last - block.key_first,
                  group_rows = heads / kv_heads * block.rows;
    const at::Tensor z =
        at::matmul(rows.weights.view({kv_heads, group_rows, keys}), block_keys(attention.v, block));
    if (attention.extra_value.defined()) {
      z.add_(rows.missing.view({kv_heads, group_rows, 1}) * attention.extra_value.unsqueeze(1));
    }
    result.out.slice(0, block.first, block.first + block.rows)
        .copy_(z.view({heads, block.rows, width}).transpose(0, 1));
    if (attention.with_sums) add_sums(attention, block, rows, result);
  }
  return result;
}

void attention_aten(const AttentionProblem* problems, int64_t count, int threads) {
  const ThreadCount scope(threads);
  for (int64_t i = 0; i < count; ++i) {
    check_problem(problems[i]);
    run_problem(problems[i]);
  }
}

}  // namespace sinkscope::forward::kernels
