#include "sinkscope/stats/selection.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "sinkscope/stats/dominant_key.h"
#include "sinkscope/stats/hidden_state.h"
#include "sinkscope/stats/update_moments.h"

namespace sinkscope::stats {

InputNorms input_norms(const at::Tensor& x, double massive_abs, double massive_ratio) {
  const ResidualValues values =
      residual_values(x.data_ptr<float>(), x.size(0), x.size(1), massive_abs);
  InputNorms input;
  input.norm = values.norm;
  input.massive.resize(values.norm.size());
  for (const TopActivation& place : values.large) {
    if (std::abs(place.value) > massive_ratio * values.median_abs) {
      input.massive[static_cast<size_t>(place.position)] = true;
    }
  }
  std::vector<double> sorted = values.norm;
  const auto middle = sorted.begin() + std::ssize(sorted) / 2;
  std::nth_element(sorted.begin(), middle, sorted.end());
  input.median = *middle;
  return input;
}

SelectionValues selection_values(const at::Tensor& q, const at::Tensor& k, int64_t key,
                                 const InputNorms& input) {
  SelectionValues values;
  UpdateMoments moments(q.size(1));
  moments.add(q);
  values.query_stable_rank = moments.value(at::eye(q.size(1))).stable_rank;
  values.learned_logit = key == kNoValueKey;
  if (key < 0 || k.size(0) < 2) return values;
  const at::Tensor keys = k.to(at::kDouble), queries = q.to(at::kDouble);
  const at::Tensor norms = keys.norm(2, 1);
  const double own = norms[key].item<double>(),
               rest = (norms.sum().item<double>() - own) / static_cast<double>(k.size(0) - 1);
  if (rest > 0) values.key_norm_ratio = own / rest;
  const at::Tensor lengths = (queries.norm(2, 1) * own).clamp_min(1e-300);
  values.query_key_cosine = (at::mv(queries, keys[key]) / lengths).mean().item<double>();
  const auto at_key = static_cast<size_t>(key);
  if (input.median > 0) values.input_norm_ratio = input.norm[at_key] / input.median;
  values.input_massive = input.massive[at_key];
  return values;
}

}  // namespace sinkscope::stats
