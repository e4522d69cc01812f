#include "sinkscope/forward/pattern.h"

#include <ATen/ATen.h>

#include "sinkscope/model/layers/scores.h"

namespace sinkscope::forward {
namespace {

/// [R, T], true where the query does not see the key.
at::Tensor hidden_keys(const Visibility& visibility, int64_t tokens, int64_t first, int64_t count) {
  at::Tensor hidden = at::ones({count, tokens}, at::kBool);
  bool* mask = hidden.data_ptr<bool>();
  for (int64_t r = 0; r < count; ++r) {
    const Visibility::Range range = visibility.keys_of(first + r, tokens);
    std::fill(mask + r * tokens + range.first,
              mask + r * tokens + std::max(range.first, range.last), false);
  }
  return hidden;
}

/// Scaled and capped products [H, R, S] of queries [H, R, K] and keys [G, S, K].
at::Tensor products(const at::Tensor& queries, const at::Tensor& keys, const ScoreRule& rule) {
  const int64_t group = queries.size(0) / keys.size(0);
  at::Tensor scores =
      at::matmul(queries, keys.repeat_interleave(group, 0).transpose(1, 2)).mul_(rule.scale);
  if (rule.softcap > 0) scores.div_(rule.softcap).tanh_().mul_(rule.softcap);
  return scores;
}

}  // namespace

at::Tensor pattern_rows(const at::Tensor& q, const at::Tensor& k, const ScoreRule& rule,
                        const Visibility& visibility, int64_t first, int64_t count,
                        at::Tensor* missing) {
  const int64_t tokens = k.size(0);
  const at::ScalarType type = q.scalar_type();
  const at::Tensor queries = q.narrow(0, first, count).transpose(0, 1);  // [H, R, K]
  at::Tensor scores = products(queries, k.transpose(0, 1), rule);
  if (rule.slopes.defined()) {
    const at::Tensor distance =
        at::arange(tokens).unsqueeze(0) - at::arange(first, first + count).unsqueeze(1);
    scores.add_(rule.slopes.to(type).view({-1, 1, 1}) * distance);
  }
  if (rule.bias.defined()) {
    const at::Tensor rows = rule.bias.size(1) == 1 ? rule.bias : rule.bias.narrow(1, first, count);
    scores.add_(rows.narrow(2, 0, tokens).to(type));
  }
  model::ExtraLogits extra;
  if (rule.sink_logits.defined()) extra.logits = rule.sink_logits.to(type).view({-1, 1, 1});
  if (rule.extra_key.defined()) {
    extra.logits = products(queries, rule.extra_key.to(type).unsqueeze(1), rule);
  }
  return model::attention_weights(rule.form, scores, hidden_keys(visibility, tokens, first, count),
                                  extra, missing);
}

}  // namespace sinkscope::forward
