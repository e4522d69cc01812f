#pragma once

#include <ATen/core/Tensor.h>

#include "sinkscope/forward/stream.h"
#include "sinkscope/model/model.h"

namespace sinkscope::forward {

/// Whether the model's files hold what makes logits of every token.
bool has_token_logits(const model::Model& model);

/// Poolers and classifiers of encoders: a few products per sequence, in the type asked for. Fast
/// and reference pass share them; the goldens judge both.
class Readouts {
 public:
  Readouts(const model::Model& model, at::ScalarType type) : model_(model), type_(type) {}

  /// [1, D] from the final norm [T, D] of one sequence; undefined where the model has no pooler.
  at::Tensor pooled(const at::Tensor& x, const Stream& stream) const;
  /// [1, classes]; undefined where the file has no classifier.
  at::Tensor classes(const at::Tensor& x, const at::Tensor& pooled) const;

 private:
  at::Tensor linear(std::string_view name, const at::Tensor& x) const;
  at::Tensor norm(std::string_view name, const at::Tensor& x) const;
  at::Tensor probe(const at::Tensor& x) const;

  const model::Model& model_;
  at::ScalarType type_;
};

}  // namespace sinkscope::forward
