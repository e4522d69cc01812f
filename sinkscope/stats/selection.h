#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "sinkscope/stats/selection_values.h"

namespace sinkscope::stats {

/// The residual x [T, D] that enters a block, as far as the choice of a sink depends on it.
struct InputNorms {
  std::vector<double> norm;   ///< [T]
  std::vector<bool> massive;  ///< [T] |x_ic| > massive_abs and > massive_ratio times the median
  double median = 0;          ///< of the norms
};
InputNorms input_norms(const at::Tensor& x, double massive_abs, double massive_ratio);

/// q [T, K] and k [T, K] of a head after rotation, its dominant key (see stats/dominant_key.h).
/// The mean of cos(q_i, k_s) is over every query; of a key of zero length it is 0.
SelectionValues selection_values(const at::Tensor& q, const at::Tensor& k, int64_t key,
                                 const InputNorms& input);

}  // namespace sinkscope::stats
