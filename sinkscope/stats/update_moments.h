#pragma once

#include <ATen/core/Tensor.h>

#include "sinkscope/stats/values.h"

namespace sinkscope::stats {

/// Second moments of one head's update over tokens, M = sum ctx ctx^T, m = sum ctx, n
/// (method.md section 3): K x K numbers, whatever the sequence length and model width.
class UpdateMoments {
 public:
  explicit UpdateMoments(int64_t width);

  /// Rows ctx [R, K] float32 or double (pattern times values, before W_O). Rows of queries that
  /// see no key must be left out by the caller.
  void add(const at::Tensor& context);
  void merge(const UpdateMoments& other);

  /// `gram` [K, K]: W_O^hT W_O^h. ||U||_F^2 = tr(M G), ||U||_op^2 = lambda_max(R G R^T) with
  /// M = R^T R, ||mean part||^2 = m^T G m / n. Zero update (energy <= 1e-30): NaN.
  UpdateValues value(const at::Tensor& gram) const;

 private:
  at::Tensor second_;  ///< [K, K] double
  at::Tensor first_;   ///< [K] double
  int64_t count_ = 0;
};

}  // namespace sinkscope::stats
