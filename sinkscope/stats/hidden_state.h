#pragma once

#include <cstdint>
#include <vector>

#include "sinkscope/stats/values.h"

namespace sinkscope::stats {

/// ||row||, summed in double.
double length(const float* row, int64_t width);

/// Lengths, exact median and largest entries of one hidden state x [tokens, width], row-major
/// (method.md section 5). `large_floor`: entries above it in magnitude are listed. The whole state
/// is needed at once because the median is exact. Ties among the largest: lowest position, then
/// lowest channel.
ResidualValues residual_values(const float* x, int64_t tokens, int64_t width, double large_floor);

/// Direction of each token against token 0 and against all others, of one state z whose rows come
/// in order (method.md section 7). O(D) memory besides the [T] cosines.
class Similarity {
 public:
  explicit Similarity(int64_t width);

  /// Further rows z [rows, width], row-major; the first row ever added is token 0.
  void add(const float* z, int64_t rows);
  /// Rows of `other`, which was made by start_from(), come after the rows here.
  void merge(const Similarity& other);
  /// An empty object for later rows of the same sequence; it compares them with token 0 of this.
  Similarity start_from() const;

  /// mean over pairs i < j = (||sum unit||^2 - n) / (n (n - 1)); rows of zero length have cosine 0.
  SimilarityValues value() const;

 private:
  void add_rows(const float* z, int64_t rows);

  int64_t width_;
  std::vector<double> first_;     // unit vector of token 0; empty before the first row
  std::vector<double> unit_sum_;  // over all rows
  std::vector<double> cosines_;
  int64_t rows_ = 0, zero_rows_ = 0;
};

}  // namespace sinkscope::stats
