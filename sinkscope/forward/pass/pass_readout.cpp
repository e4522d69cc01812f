// Behind the last block: final norm, logits, pooled states.

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "sinkscope/forward/activation.h"
#include "sinkscope/forward/kernels/linear.h"
#include "sinkscope/forward/pass/pass.h"
#include "sinkscope/forward/readout.h"

namespace sinkscope::forward {

using model::Pooler;
using model::Readout;

bool has_token_logits(const model::Model& model) {
  const Readout readout = model.spec().readout;
  if (readout != Readout::kTokens && readout != Readout::kMaskedTokens) return false;
  if (readout == Readout::kMaskedTokens && !model.weights().has("head_dense")) return false;
  return model.spec().tied_head || model.weights().has("head");
}

void Pass::read_out() {
  const model::NormWeights norm =
      spec_.final_norm ? model_.weights().load_norm("final_norm") : model::NormWeights{};
  weights_ = {};  // the head takes the place of the last block
  read_tokens(norm);
  read_pooled(norm);
}

/// Calls body(rows, segments) for all rows of the residual: in their order, or with forks so that
/// the rows of a fork follow the same positions of its parent.
template <class Body>
void Pass::for_readout(Body body) const {
  if (forks_.empty()) {
    for_chunks([&](int64_t first, int64_t count) {
      body(resid_.narrow(0, first, count), segments_of(first, count));
    });
    return;
  }
  for (int64_t parent = 0; parent < std::ssize(streams_); ++parent) {
    std::vector<Segment> family;
    for (const Segment& s : whole_) {
      if (base_of(s.stream) == parent) family.push_back(s);
    }
    const int64_t tokens = family.front().rows;
    const int64_t step = std::max<int64_t>(1, options_.chunk_rows / std::ssize(family));
    for (int64_t first = 0; first < tokens; first += step) {
      const int64_t count = std::min(step, tokens - first);
      std::vector<at::Tensor> rows;
      std::vector<Segment> segments;
      for (const Segment& s : family) {
        segments.push_back({s.stream, first, std::ssize(rows) * count, count});
        rows.push_back(resid_.narrow(0, s.first_row + first, count));
      }
      body(at::cat(rows), segments);
    }
  }
}

void Pass::read_tokens(const model::NormWeights& norm) {
  const model::Weights& weights = model_.weights();
  const bool logits = wanted(Tap::kLogits, 0) && has_token_logits(model_);
  if (!logits && !wanted(Tap::kFinalNorm, 0)) return;
  const bool masked = spec_.readout == Readout::kMaskedTokens;
  model::Linear dense, head;
  model::NormWeights dense_norm;
  if (logits) head = weights.load_head(weight_type());
  if (logits && masked) {
    dense = weights.load_matrix("head_dense", weight_type());
    dense_norm = weights.load_norm("head_norm");
  }
  const model::Linear project =
      logits ? weights.load_matrix("head_project", weight_type()) : model::Linear{};
  for_readout([&](const at::Tensor& rows, const std::vector<Segment>& segments) {
    at::Tensor x = normed(rows, norm);
    if (wanted(Tap::kFinalNorm, 0)) offer(Tap::kFinalNorm, 0, x, segments);
    if (!logits) return;
    if (project.weight.defined()) x = kernels::linear(x, project.weight, project.bias);
    if (masked) {
      x = normed(activated(spec_.activation, kernels::linear(x, dense.weight, dense.bias)),
                 dense_norm);
    }
    at::Tensor y = kernels::linear(x, head.weight, head.bias);
    if (spec_.logit_scale != 1) y.mul_(spec_.logit_scale);
    if (spec_.logit_softcap > 0) {
      y.div_(spec_.logit_softcap).tanh_().mul_(spec_.logit_softcap);
    }
    offer(Tap::kLogits, 0, y, segments);
  });
}

void Pass::read_pooled(const model::NormWeights& norm) {
  if (spec_.pooler == Pooler::kNone && !model_.weights().has("classifier")) return;
  if (!wanted(Tap::kPooled, 0) && !wanted(Tap::kLogits, 0)) return;
  const Readouts readouts(model_, at::kFloat);
  for (const Segment& s : whole_) {
    const at::Tensor x = normed(resid_.narrow(0, s.first_row, s.rows), norm);
    const Segment one{s.stream, 0, 0, 1};
    const at::Tensor pooled = readouts.pooled(x, streams_[static_cast<size_t>(base_of(s.stream))]);
    if (pooled.defined()) offer(Tap::kPooled, 0, pooled, std::span(&one, 1));
    const at::Tensor classes = readouts.classes(x, pooled);
    if (classes.defined()) offer(Tap::kLogits, 0, classes, std::span(&one, 1));
  }
}

}  // namespace sinkscope::forward
