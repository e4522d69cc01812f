#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace sinkscope::stats {

/// Singular values of Theta_h = W_q^T W_k (rows of nn.Linear, method.md section 4) of every query
/// head, largest first, [H][K], from w_q [H K, D] and w_k [G K, D]. With Gq = W_q W_q^T and
/// Gk = W_k W_k^T the squares are the eigenvalues of Gq^1/2 Gk Gq^1/2: K x K, never D x D. In
/// float64; values below 1e-8 of the largest are rounding.
std::vector<std::vector<double>> qk_spectrum(const at::Tensor& w_q, const at::Tensor& w_k,
                                             int64_t heads, int64_t kv_heads);

}  // namespace sinkscope::stats
