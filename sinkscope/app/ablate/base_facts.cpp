#include "sinkscope/app/ablate/base_facts.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <random>

#include "sinkscope/model/layers/pathway.h"
#include "sinkscope/stats/head_attention.h"

namespace sinkscope::app {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return diagnostics::kNoData;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// A token other than `key`, the same for every run with the same seed.
int64_t other_token(int64_t tokens, int64_t key, uint64_t seed, int64_t sequence, int64_t place) {
  if (tokens < 2) return -1;
  std::seed_seq seeds{seed, static_cast<uint64_t>(sequence), static_cast<uint64_t>(place)};
  std::mt19937_64 random(seeds);
  const auto drawn = static_cast<int64_t>(random() % static_cast<uint64_t>(tokens - 1));
  return drawn + (drawn >= key);
}

}  // namespace

BaseFacts::BaseFacts(const MeasurementContext& context, const BaseOptions& options)
    : context_(context),
      options_(options),
      facts_(context.sequences.size()),
      attention_norms_(context.sequences.size()),
      normed_(context.sequences.size()) {
  for (SequenceFacts& facts : facts_) {
    const auto layers = static_cast<size_t>(context.spec.layers);
    facts.heads.resize(layers);
    facts.mean_z.resize(layers), facts.z.resize(layers), facts.message.resize(layers);
    facts.attention_first.resize(layers), facts.attention_median.resize(layers);
  }
}

bool BaseFacts::wants(forward::Tap tap, int) const {
  return tap == forward::Tap::kAttnOut || tap == forward::Tap::kFinalNorm ||
         (tap == forward::Tap::kNorm1 && context_.spec.pathway > 0);
}

void BaseFacts::on_activation(const forward::Activation& activation) {
  const int64_t width = activation.rows.size(1);
  for (const forward::Segment& s : activation.segments) {
    const auto stream = static_cast<size_t>(s.stream);
    const at::Tensor rows = activation.rows.narrow(0, s.first_row, s.rows);
    if (activation.tap == forward::Tap::kNorm1) {
      normed_[stream].push_back(rows.clone());
      continue;
    }
    if (activation.tap == forward::Tap::kAttnOut) {
      for (int64_t r = 0; r < s.rows; ++r) {
        attention_norms_[stream].push_back(
            stats::length(rows.data_ptr<float>() + r * width, width));
      }
      continue;
    }
    const at::Tensor later = s.first_position == 0 ? rows.slice(0, 1) : rows;
    at::Tensor& mean = facts_[stream].mean_final;
    const auto tokens = static_cast<double>(context_.sequences[stream]->tokens() - 1);
    const at::Tensor part = later.sum(0, false, at::kDouble) / std::max(1.0, tokens);
    mean = mean.defined() ? mean + part : part;
  }
}

void BaseFacts::judge_heads(const forward::LayerState& state, const forward::Segment& rows) {
  const auto stream = static_cast<size_t>(rows.stream);
  const model::ModelSpec& spec = context_.spec;
  SequenceFacts& facts = facts_[stream];
  std::vector<HeadFacts>& heads = facts.heads[static_cast<size_t>(state.layer)];
  heads.resize(static_cast<size_t>(spec.heads));
  const at::Tensor v = state.v.narrow(0, rows.first_row, rows.rows);
  for (int64_t h = 0; h < spec.heads; ++h) {
    HeadFacts& head = heads[static_cast<size_t>(h)];
    stats::HeadAttention attention(rows.rows, context_.thresholds.event_mass);
    attention.add(state.sums[stream][static_cast<size_t>(h)], state.visibility[stream]);
    const diagnostics::SinkVerdict verdict =
        diagnostics::judge_sink(attention.value(), context_.thresholds);
    head.key = options_.key ? *options_.key : verdict.too_short ? -1 : verdict.key;
    if (head.key < 0 || head.key >= rows.rows) {  // also the learned sink logit: it has no value
      head.key = -1;
      continue;
    }
    const bool judged = !verdict.too_short && verdict.key == head.key;
    head.event = judged && verdict.event;
    // A tenth of the queries alone would make one of almost any late key of a small model.
    head.conditional = judged && verdict.sink && verdict.conditional;
    const int64_t group = h / (spec.heads / spec.kv_heads);
    head.value = v[head.key][group].clone();
    head.other = other_token(rows.rows, head.key, context_.seed, context_.sequences[stream]->id,
                             state.layer * spec.heads + h);
    if (head.other >= 0) head.other_value = v[head.other][group].clone();
    head.uses.resize(static_cast<size_t>(rows.rows));
  }
  constexpr int64_t kBlock = 128;
  for (int64_t first = 0; first < rows.rows; first += kBlock) {
    const int64_t count = std::min(kBlock, rows.rows - first);
    const at::Tensor pattern = state.pattern(rows.stream, first, count);  // [H, count, T]
    const auto a = pattern.accessor<float, 3>();
    for (int64_t h = 0; h < spec.heads; ++h) {
      HeadFacts& head = heads[static_cast<size_t>(h)];
      for (int64_t r = 0; head.key >= 0 && r < count; ++r) {
        head.uses[static_cast<size_t>(first + r)] =
            a[h][r][head.key] >= context_.thresholds.event_mass;
      }
    }
  }
}

void BaseFacts::keep_message(const forward::LayerState& state, const forward::Segment& rows) {
  const auto stream = static_cast<size_t>(rows.stream);
  if (normed_[stream].empty()) return;
  facts_[stream].message[static_cast<size_t>(state.layer)] = model::pathway_message(
      at::cat(normed_[stream]), state.weights->path_select, state.weights->path_value);
  normed_[stream].clear();
}

void BaseFacts::find_massive(const forward::LayerState& state, const forward::Segment& rows) {
  SequenceFacts& facts = facts_[static_cast<size_t>(rows.stream)];
  if (state.layer + 1 >= context_.spec.layers) return;  // no block is left to edit it
  const int64_t width = context_.spec.width;
  const stats::ResidualValues values =
      stats::residual_values(state.resid_post.data_ptr<float>() + rows.first_row * width, rows.rows,
                             width, context_.thresholds.massive_abs);
  for (const stats::TopActivation& place : values.large) {
    if (std::abs(place.value) <= context_.thresholds.massive_ratio * values.median_abs) continue;
    const bool known =
        std::any_of(facts.massive.begin(), facts.massive.end(), [&](const MassivePlace& m) {
          return m.position == place.position && m.channel == place.channel;
        });
    if (!known) {
      facts.massive.push_back({state.layer + 1, place.position, place.channel, place.value});
    }
  }
}

void BaseFacts::on_layer(const forward::LayerState& state) {
  const auto layer = static_cast<size_t>(state.layer);
  for (const forward::Segment& rows : state.streams) {
    const auto stream = static_cast<size_t>(rows.stream);
    SequenceFacts& facts = facts_[stream];
    std::vector<double>& norms = attention_norms_[stream];
    if (!norms.empty()) {
      facts.attention_first[layer] = norms.front();
      facts.attention_median[layer] = median({norms.begin() + 1, norms.end()});
    }
    norms.clear();
    const at::Tensor z = state.z.narrow(0, rows.first_row, rows.rows);
    facts.mean_z[layer] = z.mean(0, false, at::kDouble).to(at::kFloat).contiguous();
    if (options_.keep_z) facts.z[layer] = z.clone();
    judge_heads(state, rows);
    keep_message(state, rows);
    find_massive(state, rows);
  }
}

}  // namespace sinkscope::app
