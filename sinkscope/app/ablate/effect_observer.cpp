#include "sinkscope/app/ablate/effect_observer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>

#include "sinkscope/base/log_sum_exp.h"

namespace sinkscope::app {
namespace {

using forward::Tap;

/// alpha_k of one head: mean attention over the queries that see the key.
double alpha(const forward::AttentionSums& sums, const std::vector<int64_t>& queries, int64_t key) {
  const auto k = static_cast<size_t>(key);
  if (k >= queries.size() || queries[k] == 0) return 0;
  return sums.key_mass[k] / static_cast<double>(queries[k]);
}

double dot_product(const at::Tensor& a, const at::Tensor& b) { return a.dot(b).item<double>(); }

}  // namespace

EffectObserver::EffectObserver(const MeasurementContext& context,
                               const ComparisonSettings& settings,
                               std::vector<Comparison> comparisons)
    : context_(context),
      settings_(settings),
      comparisons_(std::move(comparisons)),
      base_place_(comparisons_.size()),
      sums_(comparisons_.size()) {
  for (size_t c = 0; c < comparisons_.size(); ++c) {
    comparison_of_[comparisons_[c].stream] = c;
    const std::vector<int64_t>& places = comparisons_[c].place_of;
    for (size_t p = 0; p < places.size(); ++p) {
      if (places[p] >= 0) base_place_[c][places[p]] = static_cast<int64_t>(p);
    }
  }
}

bool EffectObserver::wants(Tap tap, int) const {
  return tap == Tap::kFinalNorm || (tap == Tap::kLogits && context_.spec.causal);
}

void EffectObserver::keep_base(Tap tap, const at::Tensor& rows, const forward::Segment& segment) {
  BaseRows& kept = base_[segment.stream];
  // The final states of a step come before its logits.
  if (tap == Tap::kFinalNorm && !settings_.keep_base) kept.clear();
  const std::vector<int32_t>& ids = ids_of(segment.stream);
  std::vector<BaseRow*> places;
  for (int64_t r = 0; r < segment.rows; ++r) places.push_back(&kept[segment.first_position + r]);
  const at::Tensor top = tap == Tap::kLogits ? rows.argmax(1) : at::Tensor();
  const bool of_task = tap == Tap::kFinalNorm && settings_.row_losses;
  const at::Tensor losses =
      of_task ? settings_.row_losses(*context_.sequences[static_cast<size_t>(segment.stream)],
                                     segment.first_position, rows)
              : at::Tensor();
  at::parallel_for(0, segment.rows, 1, [&](int64_t begin, int64_t end) {
    const c10::NoGradGuard no_grad;
    for (int64_t r = begin; r < end; ++r) {
      BaseRow& row = *places[static_cast<size_t>(r)];
      if (tap == Tap::kFinalNorm) {
        row.final = rows[r].clone();
        if (of_task) row.loss = losses.data_ptr<double>()[r];
        continue;
      }
      const float* logits = rows.data_ptr<float>() + r * rows.size(1);
      row.normaliser = log_sum_exp(logits, rows.size(1));
      row.probabilities = (rows[r] - row.normaliser).exp_();
      row.mean_logit = dot_product(row.probabilities, rows[r]);
      row.top = top.data_ptr<int64_t>()[r];
      const auto next = static_cast<size_t>(segment.first_position + r + 1);
      if (next < ids.size()) row.loss = row.normaliser - logits[ids[next]];
    }
  });
}

/// Loss of a task, against its own target and against the donor's.
void EffectObserver::compare_losses(const at::Tensor& rows, const forward::Segment& segment,
                                    size_t c) {
  const Comparison& comparison = comparisons_[c];
  const auto losses_of = [&](const at::Tensor& x) {
    return settings_.row_losses(*context_.sequences[static_cast<size_t>(comparison.base)],
                                segment.first_position, x);
  };
  const at::Tensor own = losses_of(rows);
  // What is still wanted of y by target + message is what target wants of y - message.
  const at::Tensor donors =
      comparison.target_is_message ? losses_of(rows - comparison.target) : at::Tensor();
  Sums& sums = sums_[c];
  for (int64_t r = 0; r < segment.rows; ++r) {
    const double loss = own.data_ptr<double>()[r];
    if (std::isnan(loss)) continue;
    ++sums.counted;
    sums.loss += loss;
    sums.loss_base += base_.at(comparison.base).at(segment.first_position + r).loss;
    if (donors.defined()) sums.donor_loss += donors.data_ptr<double>()[r];
  }
}

void EffectObserver::compare_finals(const float* row, const BaseRow& base, int64_t position,
                                    size_t c) {
  const Comparison& comparison = comparisons_[c];
  if (position == comparison.key) return;
  Sums& sums = sums_[c];
  const int64_t width = context_.spec.width;
  if (!sums.mean_change.defined()) sums.mean_change = at::zeros({width}, at::kDouble);
  double* mean = sums.mean_change.data_ptr<double>();
  const float* own = base.final.data_ptr<float>();
  double change = 0, size = 0;
  for (int64_t i = 0; i < width; ++i) {
    const double difference = static_cast<double>(row[i]) - own[i];
    change += difference * difference;
    size += static_cast<double>(own[i]) * own[i];
    mean[i] += difference;
  }
  const bool uses = comparison.uses && (*comparison.uses)[static_cast<size_t>(position)];
  sums.change[uses] += change, sums.size[uses] += size;
  ++sums.recipients[uses];
}

void EffectObserver::compare(Tap tap, const at::Tensor& rows, const forward::Segment& segment,
                             size_t c) {
  const Comparison& comparison = comparisons_[c];
  const BaseRows& base = base_.at(comparison.base);
  const std::vector<int32_t>& ids = ids_of(comparison.base);
  const std::vector<int32_t>& own =
      ids_of(segment.stream < std::ssize(context_.sequences) ? segment.stream : comparison.base);
  const at::Tensor top = tap == Tap::kLogits ? rows.argmax(1) : at::Tensor();
  if (tap == Tap::kFinalNorm && settings_.row_losses) compare_losses(rows, segment, c);
  for (int64_t r = 0; r < segment.rows; ++r) {
    const int64_t place = segment.first_position + r;
    int64_t position = place;
    if (!comparison.place_of.empty()) {
      const auto found = base_place_[c].find(place);
      if (found == base_place_[c].end()) continue;
      position = found->second;
    }
    const BaseRow& before = base.at(position);
    if (tap == Tap::kFinalNorm) {
      compare_finals(rows.data_ptr<float>() + r * rows.size(1), before, position, c);
      continue;
    }
    const auto next = static_cast<size_t>(position + 1), own_next = static_cast<size_t>(place + 1);
    // Both must be asked for the same token.
    if (next >= ids.size() || own_next >= own.size() || own[own_next] != ids[next]) continue;
    const float* logits = rows.data_ptr<float>() + r * rows.size(1);
    const double normaliser = log_sum_exp(logits, rows.size(1));
    Sums& sums = sums_[c];
    ++sums.counted, ++sums.predicted;
    sums.loss += normaliser - logits[ids[next]];
    sums.loss_base += before.loss;
    sums.kl += before.mean_logit - before.normaliser - dot_product(before.probabilities, rows[r]) +
               normaliser;
    sums.same_top += top.data_ptr<int64_t>()[r] == before.top;
  }
}

void EffectObserver::on_activation(const forward::Activation& activation) {
  // A classifier's only row is no distribution over next tokens.
  if (activation.tap == Tap::kLogits && activation.rows.size(1) != context_.spec.vocabulary) return;
  std::vector<std::pair<const forward::Segment*, size_t>> edited;
  for (const forward::Segment& s : activation.segments) {
    const auto found = comparison_of_.find(s.stream);
    if (found == comparison_of_.end()) {
      keep_base(activation.tap, activation.rows.narrow(0, s.first_row, s.rows), s);
    } else {
      edited.emplace_back(&s, found->second);
    }
  }
  at::parallel_for(0, std::ssize(edited), 1, [&](int64_t begin, int64_t end) {
    const c10::NoGradGuard no_grad;
    for (int64_t i = begin; i < end; ++i) {
      const auto [s, comparison] = edited[static_cast<size_t>(i)];
      compare(activation.tap, activation.rows.narrow(0, s->first_row, s->rows), *s, comparison);
    }
  });
}

void EffectObserver::on_layer(const forward::LayerState& state) {
  for (const forward::Segment& s : state.streams) {
    SinkCount& count = sinks_[s.stream];
    const auto layers = static_cast<size_t>(context_.spec.layers);
    count.first.resize(layers), count.position.resize(layers);
    const auto stream = static_cast<size_t>(s.stream);
    const std::vector<int64_t> queries = state.visibility[stream].queries_of_keys(s.rows);
    for (const forward::AttentionSums& head : state.sums[stream]) {
      const auto layer = static_cast<size_t>(state.layer);
      count.first[layer] += alpha(head, queries, 0) > settings_.epsilon;
      count.position[layer] += alpha(head, queries, settings_.position) > settings_.epsilon;
    }
  }
}

double EffectObserver::sink_share(const SinkCount& count, bool position, int64_t from) const {
  const int64_t layers = context_.spec.layers;
  if (from >= layers) return diagnostics::kNoData;
  int64_t heads = 0;
  for (int64_t l = from; l < layers; ++l) {
    heads += (position ? count.position : count.first)[static_cast<size_t>(l)];
  }
  return static_cast<double>(heads) / static_cast<double>((layers - from) * context_.spec.heads);
}

std::vector<store::Effect> EffectObserver::effects() const {
  std::vector<store::Effect> effects;
  for (size_t c = 0; c < comparisons_.size(); ++c) {
    const Comparison& comparison = comparisons_[c];
    const Sums& sums = sums_[c];
    store::Effect effect;
    effect.key = comparison.key;
    if (sums.counted > 0) {
      const auto n = static_cast<double>(sums.counted);
      effect.loss_base = sums.loss_base / n, effect.loss = sums.loss / n;
      if (comparison.target_is_message) effect.donor_loss = sums.donor_loss / n;
    }
    if (sums.predicted > 0) {
      const auto n = static_cast<double>(sums.predicted);
      effect.kl = std::max(0.0, sums.kl / n);  // below 0 only by rounding
      effect.top1 = static_cast<double>(sums.same_top) / n;
    }
    const auto rms = [](double change, double size) {
      return size > 0 ? std::sqrt(change / size) : diagnostics::kNoData;
    };
    const double change = sums.change[0] + sums.change[1];
    effect.rms = rms(change, sums.size[0] + sums.size[1]);
    if (comparison.uses) {
      effect.rms_using = rms(sums.change[1], sums.size[1]);
      effect.rms_other = rms(sums.change[0], sums.size[0]);
    }
    const auto per_channel = [&](int uses) {
      const auto numbers = static_cast<double>(sums.recipients[uses] * context_.spec.width);
      return rms(sums.change[uses], numbers);
    };
    effect.change_using = per_channel(1), effect.change_other = per_channel(0);
    // A value put in the place of its equal still moves the last bits: 2e-7 of the states.
    constexpr double kRounding = 1e-6;
    if (change > kRounding * kRounding * (sums.size[0] + sums.size[1])) {
      const double shared = dot_product(sums.mean_change, sums.mean_change);
      const auto recipients = static_cast<double>(sums.recipients[0] + sums.recipients[1]);
      effect.shared_energy = shared / recipients / change;
      if (comparison.target.defined()) {
        const double size = std::sqrt(shared * dot_product(comparison.target, comparison.target));
        if (size > 0) effect.donor_cosine = dot_product(sums.mean_change, comparison.target) / size;
      }
    }
    const SinkCount &base = sinks_.at(comparison.base), &edited = sinks_.at(comparison.stream);
    effect.sink0_base = sink_share(base, false, comparison.later_layer);
    effect.sink0 = sink_share(edited, false, comparison.later_layer);
    effect.sink_pos_base = sink_share(base, true, comparison.later_layer);
    effect.sink_pos = sink_share(edited, true, comparison.later_layer);
    effects.push_back(std::move(effect));
  }
  return effects;
}

}  // namespace sinkscope::app
