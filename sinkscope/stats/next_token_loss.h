#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

namespace sinkscope::stats {

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
