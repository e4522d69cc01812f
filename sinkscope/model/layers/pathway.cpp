#include "sinkscope/model/layers/pathway.h"

#include <ATen/ATen.h>

namespace sinkscope::model {
namespace {

at::Tensor linear(const at::Tensor& x, const Linear& weights) {
  return weights.bias.defined() ? at::linear(x, weights.weight, weights.bias)
                                : at::linear(x, weights.weight);
}

}  // namespace

at::Tensor pathway_update(const at::Tensor& z, const Linear& select, const Linear& value,
                          const Linear& gate, const Linear& out) {
  const at::Tensor share = at::softmax(linear(z, select), -2);                       // [.., T, 1]
  const at::Tensor message = at::matmul(share.transpose(-2, -1), linear(z, value));  // [.., 1, P]
  return linear(z, gate).sigmoid() * linear(message, out);
}

}  // namespace sinkscope::model
