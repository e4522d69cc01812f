#include "sinkscope/stats/weight_size.h"

#include <ATen/ATen.h>

#include <cmath>

#include "sinkscope/stats/qk_spectrum.h"

namespace sinkscope::stats {

std::vector<WeightSizeValues> weight_size(const at::Tensor& w_v, const at::Tensor& w_o,
                                          int64_t heads, int64_t kv_heads, double score_scale) {
  std::vector<WeightSizeValues> sizes;
  // With W_O^T in the place of W_q the map W_q^T W_k is W_O W_V.
  for (const std::vector<double>& sigma : qk_spectrum(w_o.t().contiguous(), w_v, heads, kv_heads)) {
    WeightSizeValues& size = sizes.emplace_back();
    size.score_scale = score_scale;
    for (const double s : sigma) size.vo_nuclear += s, size.vo_frobenius += s * s;
    size.vo_frobenius = std::sqrt(size.vo_frobenius);
  }
  return sizes;
}

}  // namespace sinkscope::stats
