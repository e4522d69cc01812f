#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

namespace sinkscope::stats {

/// The ids that follow `rows` positions from `first` on, -1 where nothing does.
std::vector<int32_t> next_ids(std::span<const int32_t> ids, int64_t first, int64_t rows);

/// Negative log likelihood of the next token, summed in double over the rows added; natural log.
class NextTokenLoss {
 public:
  /// `logits` [R, V] float32; `next` [R] ids that follow each row, -1 where nothing does.
  void add(const at::Tensor& logits, std::span<const int32_t> next);
  void merge(const NextTokenLoss& other);

  double sum() const { return sum_; }
  int64_t tokens() const { return tokens_; }

 private:
  double sum_ = 0;
  int64_t tokens_ = 0;
};

}  // namespace sinkscope::stats
