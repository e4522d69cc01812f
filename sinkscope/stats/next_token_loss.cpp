#include "sinkscope/stats/next_token_loss.h"

#include <ATen/ATen.h>

namespace sinkscope::stats {

void NextTokenLoss::add(const at::Tensor& logits, std::span<const int32_t> next) {
  const at::Tensor normaliser = at::logsumexp(logits, -1);  // [R]
  const float* total = normaliser.data_ptr<float>();
  const float* row = logits.data_ptr<float>();
  for (size_t r = 0; r < next.size(); ++r) {
    if (next[r] < 0) continue;
    sum_ += static_cast<double>(total[r]) - row[static_cast<int64_t>(r) * logits.size(1) + next[r]];
    ++tokens_;
  }
}

void NextTokenLoss::merge(const NextTokenLoss& other) {
  sum_ += other.sum_;
  tokens_ += other.tokens_;
}

}  // namespace sinkscope::stats
