#include "sinkscope/train/variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sinkscope/base/error.h"
#include "sinkscope/io/printable.h"

namespace sinkscope::train {
namespace {

using model::Gate;
using model::ScoreKind;

[[noreturn]] void refuse(const std::string& seen, const std::string& hint) {
  throw Error(ErrorKind::kUsage, "choose variants", seen, hint);
}

void use_scores(ScoreKind kind, Plan& plan) {
  if (plan.spec.scores.kind != ScoreKind::kSoftmax) {
    refuse("two variants that replace softmax", "choose one of clipped, sigmoid, relu");
  }
  plan.spec.scores.kind = kind;
}

double tokens_of(const Plan& plan) { return static_cast<double>(plan.spec.context); }

// clang-format off
constexpr Variant kVariants[] = {
    {"gate-headwise", "z of each head times sigmoid(w z + b) before W_O",
     [](const VariantNumbers&, Plan& plan) { plan.spec.output_gate = Gate::kHeadwise; }},
    {"gate-elementwise", "the same for each channel of a head",
     [](const VariantNumbers&, Plan& plan) { plan.spec.output_gate = Gate::kElementwise; }},
    {"value-gate", "v times sigmoid(W z + b), per channel",
     [](const VariantNumbers&, Plan& plan) { plan.spec.value_gate = Gate::kElementwise; }},
    {"key-gate", "k times sigmoid(W z + b), per channel",
     [](const VariantNumbers&, Plan& plan) { plan.spec.key_gate = Gate::kElementwise; }},
    {"registers", "learned tokens before every sequence, left out of the loss",
     [](const VariantNumbers& numbers, Plan& plan) { plan.registers = numbers.registers; }},
    {"sink-logit", "a learned logit per head joins every softmax and takes its share out",
     [](const VariantNumbers&, Plan& plan) { plan.spec.sink_logits = true; }},
    {"off-by-one", "the same with the logit fixed at 0",
     [](const VariantNumbers&, Plan& plan) { plan.spec.sink_logits = plan.options.freeze_sinks = true; }},
    {"key-bias", "a learned key that every query sees, its value 0",
     [](const VariantNumbers&, Plan& plan) { plan.spec.extra_key = true; }},
    {"key-value-bias", "a learned key and value that every query sees",
     [](const VariantNumbers&, Plan& plan) { plan.spec.extra_key = plan.spec.extra_value = true; }},
    {"clipped", "clip((zeta - gamma) softmax + gamma, 0, 1), gamma = -alpha / T",
     [](const VariantNumbers& numbers, Plan& plan) {
       use_scores(ScoreKind::kClipped, plan);
       plan.spec.scores.stretch_low = -numbers.clip_alpha / tokens_of(plan);
     }},
    {"sigmoid", "sigmoid(logit + b) of each key, not normalised, b = -log T",
     [](const VariantNumbers& numbers, Plan& plan) {
       use_scores(ScoreKind::kSigmoid, plan);
       plan.spec.scores.bias = numbers.sigmoid_bias.value_or(-std::log(tokens_of(plan)));
     }},
    {"relu", "max(logit, 0) / visible keys",
     [](const VariantNumbers&, Plan& plan) { use_scores(ScoreKind::kRelu, plan); }},
    {"pathway", "a global pathway beside attention: one message, gathered without positions",
     [](const VariantNumbers& numbers, Plan& plan) {
       if (plan.spec.causal) refuse("pathway in a causal model", "it gathers from later tokens too");
       plan.spec.pathway = numbers.pathway_width;
     }},
    {"penalty", "the common-mode share of every block's update is added to the loss",
     [](const VariantNumbers& numbers, Plan& plan) { plan.options.penalty = numbers.penalty; }},
    {"tnlm", "no loss for the prediction made at <s>",
     [](const VariantNumbers&, Plan& plan) {
       if (plan.spec.vectors) refuse("tnlm in a task without ids", "bigram-backcopy has them");
       plan.options.skip_first_loss = true;
     }},
    {"force-sink", "before every norm the first token keeps its first k channels, the others the rest",
     [](const VariantNumbers& numbers, Plan& plan) { plan.spec.split_channels = numbers.split; }},
};
// clang-format on

const Variant& find_variant(std::string_view name) {
  std::string known = "base";
  for (const Variant& variant : kVariants) {
    if (variant.name == name) return variant;
    known += ", " + std::string(variant.name);
  }
  refuse(fmt::format("\"{}\"", io::printable(name)), known + "; several are joined by +");
}

}  // namespace

std::span<const Variant> all_variants() { return kVariants; }

void apply_variants(std::string_view names, const VariantNumbers& numbers, Plan& plan) {
  while (!names.empty()) {
    const size_t plus = std::min(names.find('+'), names.size());
    const std::string_view name = names.substr(0, plus);
    names.remove_prefix(std::min(plus + 1, names.size()));
    if (name != "base") find_variant(name).apply(numbers, plan);
  }
  const model::ModelSpec& spec = plan.spec;
  if ((spec.sink_logits || spec.extra_key) &&
      (spec.scores.kind != ScoreKind::kSoftmax || (spec.sink_logits && spec.extra_key))) {
    refuse("a sink logit or an extra key together with each other or another form of attention",
           "both join a softmax");
  }
}

}  // namespace sinkscope::train
