#include "sinkscope/stats/next_token_loss.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <vector>

#include "sinkscope/base/log_sum_exp.h"

namespace sinkscope::stats {

std::vector<int32_t> next_ids(std::span<const int32_t> ids, int64_t first, int64_t rows) {
  std::vector<int32_t> next(static_cast<size_t>(rows), -1);
  for (int64_t r = 0; r < rows; ++r) {
    const auto after = static_cast<size_t>(first + r + 1);
    if (after < ids.size()) next[static_cast<size_t>(r)] = ids[after];
  }
  return next;
}

void NextTokenLoss::add(const at::Tensor& logits, std::span<const int32_t> next) {
  const auto rows = static_cast<int64_t>(next.size());
  const int64_t vocabulary = logits.size(1);
  const float* data = logits.data_ptr<float>();
  std::vector<double> normaliser(next.size());
  at::parallel_for(0, rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      normaliser[static_cast<size_t>(r)] = log_sum_exp(data + r * vocabulary, vocabulary);
  });
  for (size_t r = 0; r < next.size(); ++r) {
    if (next[r] < 0) continue;
    sum_ += normaliser[r] - data[static_cast<int64_t>(r) * vocabulary + next[r]];
    ++tokens_;
  }
}

void NextTokenLoss::merge(const NextTokenLoss& other) {
  sum_ += other.sum_;
  tokens_ += other.tokens_;
}

}  // namespace sinkscope::stats
