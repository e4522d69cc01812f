#include "sinkscope/forward/readout.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "sinkscope/forward/activation.h"

namespace sinkscope::forward {

using model::Pooler;

at::Tensor Readouts::linear(std::string_view name, const at::Tensor& x) const {
  const model::Linear weights = model_.weights().load_matrix(name, at::kFloat);
  const at::Tensor y = at::matmul(x, weights.weight.to(type_).t());
  return weights.bias.defined() ? y + weights.bias.to(type_) : y;
}

at::Tensor Readouts::norm(std::string_view name, const at::Tensor& x) const {
  const model::NormWeights weights = model_.weights().load_norm(name);
  return at::layer_norm(x, {x.size(-1)}, weights.gain.to(type_), weights.bias.to(type_),
                        model_.spec().norm_epsilon);
}

/// Attention pooling with a learned query: x' = attention(probe; x), x' + MLP(norm x').
at::Tensor Readouts::probe(const at::Tensor& x) const {
  const model::ModelSpec& spec = model_.spec();
  const model::Linear in = model_.weights().load_matrix("probe_in", at::kFloat);
  const at::Tensor query = model_.weights().load("probe").to(type_).view({1, spec.width});
  const auto project = [&](const at::Tensor& rows, int64_t part) {
    return (at::matmul(rows, in.weight.narrow(0, part * spec.width, spec.width).to(type_).t()) +
            in.bias.narrow(0, part * spec.width, spec.width).to(type_))
        .view({-1, spec.heads, spec.head_width})
        .transpose(0, 1);  // [H, rows, K]
  };
  const at::Tensor scores =
      at::matmul(project(query, 0), project(x, 1).transpose(1, 2)) * spec.score_scale;
  const at::Tensor z = at::matmul(at::softmax(scores, -1), project(x, 2));  // [H, 1, K]
  at::Tensor y = linear("probe_out", z.transpose(0, 1).reshape({1, spec.width}));
  return y + linear("probe_down",
                    activated(model_.spec().activation, linear("probe_up", norm("probe_norm", y))));
}

namespace {

/// Where a CLIP text ends: its first id `end`, or for files that name none the largest id, which is
/// how their vocabulary was made.
int64_t end_of_text(const std::vector<int32_t>& ids, int64_t end) {
  const auto at = end < 0 ? std::max_element(ids.begin(), ids.end())
                          : std::find(ids.begin(), ids.end(), static_cast<int32_t>(end));
  return at == ids.end() ? 0 : at - ids.begin();
}

}  // namespace

at::Tensor Readouts::pooled(const at::Tensor& x, const Stream& stream) const {
  const int64_t prefix = model_.spec().vision.prefix();
  switch (model_.spec().pooler) {
    case Pooler::kNone: return {};
    case Pooler::kFirst: return x.narrow(0, 0, 1);
    case Pooler::kTanhFirst:
      if (!model_.weights().has("pooler")) return {};
      return linear("pooler", x.narrow(0, 0, 1)).tanh();
    case Pooler::kMean: return x.slice(0, prefix).mean(0, true);
    case Pooler::kEnd: return x.narrow(0, end_of_text(stream.ids, model_.spec().end_id), 1);
    case Pooler::kMeanNorm:
      if (!model_.weights().has("pooler_norm")) return {};
      return norm("pooler_norm", x.slice(0, prefix).mean(0, true));
    case Pooler::kProbe:
      if (!model_.weights().has("probe")) return {};
      return probe(x);
  }
  return {};
}

at::Tensor Readouts::classes(const at::Tensor& x, const at::Tensor& pooled) const {
  using model::Readout;
  const Readout readout = model_.spec().readout;
  if (!model_.weights().has("classifier")) return {};
  if (readout == Readout::kClassesFirstMean) {
    const at::Tensor mean = x.slice(0, model_.spec().vision.prefix()).mean(0, true);
    return linear("classifier", at::cat({x.narrow(0, 0, 1), mean}, 1));
  }
  if (readout != Readout::kClasses) return {};
  if (model_.weights().has("classifier2")) {
    return (linear("classifier", x.narrow(0, 0, 1)) + linear("classifier2", x.narrow(0, 1, 1))) / 2;
  }
  return linear("classifier", pooled.defined() ? pooled : x.narrow(0, 0, 1));
}

}  // namespace sinkscope::forward
