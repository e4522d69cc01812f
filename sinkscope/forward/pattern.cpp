#include "sinkscope/forward/pattern.h"

#include <ATen/ATen.h>

#include <limits>

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

}  // namespace

at::Tensor pattern_rows(const at::Tensor& q, const at::Tensor& k, const ScoreRule& rule,
                        const Visibility& visibility, int64_t first, int64_t count) {
  const int64_t tokens = k.size(0), heads = q.size(1), group = heads / k.size(1);
  const at::ScalarType type = q.scalar_type();
  const at::Tensor queries = q.narrow(0, first, count).transpose(0, 1);  // [H, R, K]
  const at::Tensor keys =
      k.transpose(0, 1).repeat_interleave(group, 0).transpose(1, 2);  // [H, K, T]
  at::Tensor scores = at::matmul(queries, keys).mul_(rule.scale);
  if (rule.softcap > 0) scores.div_(rule.softcap).tanh_().mul_(rule.softcap);
  if (rule.slopes.defined()) {
    const at::Tensor distance =
        at::arange(tokens).unsqueeze(0) - at::arange(first, first + count).unsqueeze(1);
    scores.add_(rule.slopes.to(type).view({-1, 1, 1}) * distance);
  }
  if (rule.bias.defined()) {
    const at::Tensor rows = rule.bias.size(1) == 1 ? rule.bias : rule.bias.narrow(1, first, count);
    scores.add_(rows.narrow(2, 0, tokens).to(type));
  }
  const at::Tensor hidden = hidden_keys(visibility, tokens, first, count);
  scores.masked_fill_(hidden, -std::numeric_limits<double>::infinity());
  if (rule.sink_logits.defined()) {
    const at::Tensor sinks = rule.sink_logits.to(type).view({-1, 1, 1}).expand({heads, count, 1});
    scores = at::softmax(at::cat({scores, sinks}, -1), -1).narrow(-1, 0, tokens);
  } else {
    scores = at::softmax(scores, -1);
  }
  // A query that sees no key gets a row of zeros, not NaN.
  return scores.masked_fill(hidden, 0);
}

}  // namespace sinkscope::forward
