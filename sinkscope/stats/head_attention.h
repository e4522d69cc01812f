#pragma once

#include <cstdint>
#include <span>

#include "sinkscope/forward/attention_sums.h"
#include "sinkscope/stats/values.h"

namespace sinkscope::stats {

/// What one head's attention gives to each key and how each query spreads it, over one sequence
/// (method.md section 1, streaming form). n_k and the uniform share are counted from the visible
/// ranges, not derived: windows, documents and padding all change them. O(T) memory.
class HeadAttention {
 public:
  /// Throws Error{kUsage} when `tokens` (T) is not positive.
  HeadAttention(int64_t tokens, double event_mass);

  /// One query's final softmax row A[i, :], length T, which sees keys [first, last). Any order;
  /// a query without a visible key (first == last) is ignored.
  void add(int64_t query, std::span<const float> row, int64_t first, int64_t last);
  /// The same numbers from a kernel that has already summed its rows over the whole sequence.
  void add(const forward::AttentionSums& sums, const forward::Visibility& visibility);
  /// Equal to having added the other object's queries here.
  void merge(const HeadAttention& other);

  const AttentionValues& value() const { return value_; }

 private:
  void count_visible(int64_t first, int64_t last);
  AttentionValues value_;
  double event_mass_;
};

}  // namespace sinkscope::stats
