#include "sinkscope/stats/qk_spectrum.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

namespace sinkscope::stats {
namespace {

at::Tensor grams(const at::Tensor& weight, int64_t heads) {  // [heads, K, K] double
  const at::Tensor rows = weight.view({heads, -1, weight.size(1)}).to(at::kDouble);
  return at::matmul(rows, rows.transpose(1, 2));
}

std::vector<double> spectrum(const at::Tensor& gq, const at::Tensor& gk) {
  const auto [values, vectors] = at::linalg_eigh(gq);
  const at::Tensor root = vectors * values.clamp_min(0).sqrt().unsqueeze(0);
  const at::Tensor squares = at::linalg_eigvalsh(at::matmul(at::matmul(root.t(), gk), root));
  const at::Tensor sigma = squares.clamp_min(0).sqrt().flip(-1).contiguous();
  return {sigma.data_ptr<double>(), sigma.data_ptr<double>() + sigma.numel()};
}

}  // namespace

std::vector<std::vector<double>> qk_spectrum(const at::Tensor& w_q, const at::Tensor& w_k,
                                             int64_t heads, int64_t kv_heads) {
  const at::Tensor gq = grams(w_q, heads), gk = grams(w_k, kv_heads);
  std::vector<std::vector<double>> spectra(static_cast<size_t>(heads));
  // A head a task: decompositions this small gain nothing from threads of their own.
  at::parallel_for(0, heads, 1, [&](int64_t begin, int64_t end) {
    const c10::NoGradGuard no_grad;
    for (int64_t h = begin; h < end; ++h) {
      spectra[static_cast<size_t>(h)] = spectrum(gq[h], gk[h / (heads / kv_heads)]);
    }
  });
  return spectra;
}

}  // namespace sinkscope::stats
