#include "sinkscope/forward/kernels/linear.h"

#include <ATen/ATen.h>
#include <dlfcn.h>
#include <malloc.h>

namespace sinkscope::forward::kernels {

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (weight.scalar_type() == at::kBFloat16) {
    at::Tensor y = at::linear(x.to(at::kBFloat16), weight).to(at::kFloat);
    return bias.defined() ? y.add_(bias) : y;
  }
  const bool onednn =
      at::hasMKLDNN() && x.device().is_cpu() && x.scalar_type() == at::kFloat && x.size(0) > 1;
  if (!onednn) return bias.defined() ? at::linear(x, weight, bias) : at::linear(x, weight);
  return at::mkldnn_linear(x.to_mkldnn(), weight, bias).to_dense();
}

void prepare_process() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  // Not linked by name: other builds of LibTorch come with another BLAS.
  if (void* set_threads = dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) {
    reinterpret_cast<void (*)(int)>(set_threads)(1);
  }
}

}  // namespace sinkscope::forward::kernels
