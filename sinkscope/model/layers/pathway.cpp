#include "sinkscope/model/layers/pathway.h"

#include <ATen/ATen.h>

namespace sinkscope::model {
namespace {

at::Tensor linear(const at::Tensor& x, const Linear& weights) {
  return weights.bias.defined() ? at::linear(x, weights.weight, weights.bias)
                                : at::linear(x, weights.weight);
}

}  // namespace

at::Tensor pathway_message(const at::Tensor& z, const Linear& select, const Linear& value) {
  const at::Tensor share = at::softmax(linear(z, select), -2);  // [.., T, 1]
  return at::matmul(share.transpose(-2, -1), linear(z, value));
}

at::Tensor pathway_delivery(const at::Tensor& z, const at::Tensor& message, const Linear& gate,
                            const Linear& out) {
  return linear(z, gate).sigmoid() * linear(message, out);
}

at::Tensor pathway_update(const at::Tensor& z, const Linear& select, const Linear& value,
                          const Linear& gate, const Linear& out) {
  return pathway_delivery(z, pathway_message(z, select, value), gate, out);
}

}  // namespace sinkscope::model
