#include "sinkscope/stats/qk_spectrum.h"

#include <ATen/ATen.h>

namespace sinkscope::stats {
namespace {

at::Tensor grams(const at::Tensor& weight, int64_t heads) {  // [heads, K, K] double
  const at::Tensor rows = weight.view({heads, -1, weight.size(1)}).to(at::kDouble);
  return at::matmul(rows, rows.transpose(1, 2));
}

}  // namespace

std::vector<std::vector<double>> qk_spectrum(const at::Tensor& w_q, const at::Tensor& w_k,
                                             int64_t heads, int64_t kv_heads) {
  const at::Tensor gq = grams(w_q, heads),
                   gk = grams(w_k, kv_heads).repeat_interleave(heads / kv_heads, 0);
  const auto [values, vectors] = at::linalg_eigh(gq);
  const at::Tensor root = vectors * values.clamp_min(0).sqrt().unsqueeze(1);
  const at::Tensor squares =
      at::linalg_eigvalsh(at::matmul(at::matmul(root.transpose(1, 2), gk), root));
  const at::Tensor sigma = squares.clamp_min(0).sqrt().flip(-1).contiguous();
  std::vector<std::vector<double>> spectra(static_cast<size_t>(heads));
  for (int64_t h = 0; h < heads; ++h) {
    const double* row = sigma.data_ptr<double>() + h * sigma.size(1);
    spectra[static_cast<size_t>(h)].assign(row, row + sigma.size(1));
  }
  return spectra;
}

}  // namespace sinkscope::stats
