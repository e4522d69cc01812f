#include "sinkscope/model/layers/scores.h"

#include <ATen/ATen.h>

#include <limits>

namespace sinkscope::model {
namespace {

/// Over the visible keys and, where there is an extra logit, that as the last column.
at::Tensor softmax_columns(const at::Tensor& logits, const at::Tensor& hidden,
                           const ExtraLogits& extra) {
  const at::Tensor seen = hidden.defined()
                              ? logits.masked_fill(hidden, -std::numeric_limits<double>::infinity())
                              : logits;
  if (!extra.logits.defined()) return at::softmax(seen, -1);
  std::vector<int64_t> shape = logits.sizes().vec();
  shape.back() = 1;
  return at::softmax(at::cat({seen, extra.logits.expand(shape)}, -1), -1);
}

}  // namespace

at::Tensor attention_weights(const ScoreForm& form, const at::Tensor& logits,
                             const at::Tensor& hidden, const ExtraLogits& extra,
                             at::Tensor* extra_share) {
  at::Tensor weights;
  switch (form.kind) {
    case ScoreKind::kSoftmax: weights = softmax_columns(logits, hidden, extra); break;
    case ScoreKind::kClipped:
      weights = (softmax_columns(logits, hidden, extra) * (form.stretch_high - form.stretch_low) +
                 form.stretch_low)
                    .clamp(0, 1);
      break;
    case ScoreKind::kSigmoid: weights = (logits + form.bias).sigmoid(); break;
    case ScoreKind::kRelu: {
      const at::Tensor count = hidden.defined() ? hidden.logical_not().sum(-1, true).clamp_min(1)
                                                : at::full({1}, logits.size(-1), at::kLong);
      weights = logits.relu() / count.to(logits.scalar_type());
      break;
    }
  }
  if (extra.logits.defined()) {
    const at::Tensor share = weights.narrow(-1, logits.size(-1), 1);
    weights = weights.narrow(-1, 0, logits.size(-1));
    if (extra_share) {
      *extra_share = hidden.defined() ? share.masked_fill(hidden.all(-1, true), 0) : share;
    }
  }
  // Also what makes a query that sees no key a row of zeros, not NaN.
  return hidden.defined() ? weights.masked_fill(hidden, 0) : weights;
}

}  // namespace sinkscope::model
