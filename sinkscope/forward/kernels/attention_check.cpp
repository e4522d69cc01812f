#include "sinkscope/forward/kernels/attention_check.h"

#include <fmt/format.h>

#include <limits>
#include <string>

#include "sinkscope/base/error.h"

namespace sinkscope::forward::kernels {
namespace {

void require(bool holds, const std::string& seen) {
  if (!holds) throw Error(ErrorKind::kInternal, "attention", seen, "this is a bug in sinkscope");
}

}  // namespace

void check_problem(const AttentionProblem& p) {
  require(p.tokens > 0 && p.tokens <= std::numeric_limits<int32_t>::max() / 2,
          fmt::format("{} tokens", p.tokens));
  require(p.heads > 0 && p.kv_heads > 0 && p.heads % p.kv_heads == 0,
          fmt::format("{} query heads for {} key/value heads", p.heads, p.kv_heads));
  require(p.width > 0, fmt::format("head width {}", p.width));
  require(p.q && p.k && p.v && p.out, "a tensor is missing");
  const int64_t row = p.heads * p.width, kv_row = p.kv_heads * p.width;
  require(p.q_stride >= row && p.out_stride >= row && p.k_stride >= kv_row && p.v_stride >= kv_row,
          fmt::format("strides {}, {}, {}, {} for rows of {} and {}", p.q_stride, p.k_stride,
                      p.v_stride, p.out_stride, row, kv_row));
  require(!p.sink_logits || !p.extra_key, "both sink logits and an extra key");
  require(!p.extra_value || p.extra_key, "the value of an extra key that is missing");
  const bool softmax =
      p.scores.kind == model::ScoreKind::kSoftmax || p.scores.kind == model::ScoreKind::kClipped;
  require(softmax || !p.has_missing(), "a sink logit or extra key beside scores of no softmax");
  require(p.softcap >= 0, fmt::format("soft cap {}", p.softcap));
  require(p.visibility.window >= 0, fmt::format("window of {} keys", p.visibility.window));
  const int64_t bias_row = (p.tokens + kBiasAlign - 1) / kBiasAlign * kBiasAlign;
  require(!p.bias || ((p.bias_row_stride == 0 || p.bias_row_stride >= bias_row) &&
                      p.bias_head_stride >= bias_row),
          fmt::format("bias strides {} and {} for {} tokens", p.bias_head_stride, p.bias_row_stride,
                      p.tokens));
  if (!p.sums) return;
  require(p.event_mass > 0, fmt::format("event mass {}", p.event_mass));
  for (int64_t h = 0; h < p.heads; ++h) {
    const AttentionSums& sums = p.sums[h];
    const auto tokens = static_cast<size_t>(p.tokens);
    const bool sized = sums.key_mass.size() == tokens && sums.key_mass_sq.size() == tokens &&
                       sums.key_events.size() == tokens && sums.row_entropy.size() == tokens &&
                       sums.row_square.size() == tokens && sums.row_self.size() == tokens &&
                       sums.row_missing.size() == (p.has_missing() ? tokens : 0);
    require(sized, fmt::format("sums of head {} are not resized to {} tokens", h, tokens));
  }
}

}  // namespace sinkscope::forward::kernels
