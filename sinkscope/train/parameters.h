#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sinkscope/model/model_spec.h"
#include "sinkscope/model/weights.h"
#include "sinkscope/train/options.h"

namespace sinkscope::train {

/// The weights of a lab model while it is trained. All values lie in one vector, all gradients in
/// another, so that an optimiser is one loop; each weight is a view with its own name and shape.
class Parameters {
 public:
  struct Entry {
    std::string file_name;  ///< in safetensors, "blocks.0.attn.qkv.weight"
    std::string ours;       ///< as model::Weights calls it, "blocks.0.qkv"
    std::vector<int64_t> shape;
    int64_t first = 0, elements = 0;  ///< place in the vectors
  };

  /// Values by the recipes of method.md section 16 and the defaults of PyTorch's layers: matrices
  /// uniform in +-1/sqrt(inputs) with their biases; norms 1 and 0; embeddings N(0, d^2), d the
  /// options' deviation; positions and extra tokens N(0, 0.02^2); gates N(0, 1e-6) with bias
  /// `gate_bias`; the pathway N(0, 0.02^2) cut at two deviations, its gate's bias 0; sink logits 0.
  /// Each weight's numbers depend on the seed and its name alone, so variants of a model share what
  /// they have in common.
  Parameters(const model::ModelSpec& spec, const TrainerOptions& options);

  /// The same weights, in the same memory, with gradients of their own.
  Parameters with_own_gradients() const;

  /// A weight by our name; undefined where the model has none. Requires a gradient.
  const at::Tensor& at(std::string_view ours) const;
  model::Linear linear(const std::string& ours) const { return {at(ours), at(ours + ".bias")}; }
  model::NormWeights norm(const std::string& ours) const { return {at(ours), at(ours + ".bias")}; }

  /// Keeps a weight as it is: it gets no gradient.
  void freeze(std::string_view ours);

  const std::vector<Entry>& entries() const { return entries_; }
  at::Tensor values() const { return values_; }        ///< [P]
  at::Tensor gradients() const { return gradients_; }  ///< [P], added to by backward()
  int64_t count() const { return values_.numel(); }
  /// The weight that element `index` of the vectors belongs to, for messages.
  const Entry& entry_of(int64_t index) const;

 private:
  at::Tensor view_of(const Entry& entry) const;

  std::vector<Entry> entries_;
  at::Tensor values_, gradients_;
  std::map<std::string, at::Tensor, std::less<>> views_;  // by our name
};

}  // namespace sinkscope::train
