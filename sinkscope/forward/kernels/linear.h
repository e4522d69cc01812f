#pragma once

#include <ATen/core/Tensor.h>

namespace sinkscope::forward::kernels {

/// y = x weight^T + bias. x [N, in] float32, weight [out, in] float32 or bfloat16, bias [out]
/// float32 or undefined; y [N, out] float32. bfloat16 weights multiply x rounded to bfloat16 and
/// sum in float32.
///
/// On the CPU in float32 this is oneDNN through at::mkldnn_linear: from 256 rows on it runs at
/// about twice the rate of at::linear on machines with AVX-512. Give it many rows at once.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

/// Call once before the first pass. Keeps freed blocks of several megabytes in the process: fresh
/// pages for every product cost as much as the product itself. And makes OpenBLAS, where that is
/// the BLAS, run on the caller's thread: its own threads would fight with those of OpenMP, which
/// wait spinning; large products go to oneDNN, small ones are shared out as tasks.
void prepare_process();

}  // namespace sinkscope::forward::kernels
