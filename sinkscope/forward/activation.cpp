#include "sinkscope/forward/activation.h"

#include <ATen/ATen.h>

#include "sinkscope/base/error.h"

namespace sinkscope::forward {

at::Tensor activated(model::Activation activation, const at::Tensor& x) {
  switch (activation) {
    case model::Activation::kSilu: return at::silu(x);
    case model::Activation::kGelu: return at::gelu(x, "none");
    case model::Activation::kGeluTanh: return at::gelu(x, "tanh");
    case model::Activation::kQuickGelu: return x * (x * 1.702).sigmoid_();
    case model::Activation::kRelu: return x.relu();
    case model::Activation::kSquaredRelu: return x.relu().square_();
    case model::Activation::kTanh: return x.tanh();
    case model::Activation::kClampedSwiglu: break;
  }
  throw Error(ErrorKind::kInternal, "run the model", "an activation that needs a gate",
              "this is a bug in sinkscope");
}

}  // namespace sinkscope::forward
