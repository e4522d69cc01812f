#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cmath>

#include "sinkscope/model/layers/scores.h"
#include "sinkscope/train/kernels/attention.h"
#include "sinkscope/train/kernels/functions.h"
#include "sinkscope/train/random.h"

namespace sinkscope::train {
namespace {

using model::ModelSpec;
using model::ScoreKind;

struct Inputs {
  at::Tensor qkv;
  kernels::AttentionExtras extras;

  std::vector<at::Tensor*> all() {
    return {&qkv, &extras.sinks, &extras.extra_key, &extras.extra_value};
  }
  Inputs in(at::ScalarType type) const {
    Inputs copy = *this;
    for (at::Tensor* x : copy.all()) {
      if (x->defined()) *x = x->detach().to(type, false, true).requires_grad_(true);
    }
    return copy;
  }
};

/// The same by whole maps and model::attention_weights.
at::Tensor plain_attention(const ModelSpec& spec, const Inputs& inputs) {
  const int64_t sequences = inputs.qkv.size(0), tokens = inputs.qkv.size(1);
  const auto heads_of = [&](int64_t first, int64_t heads) {
    const at::Tensor x = inputs.qkv.narrow(2, first, heads * spec.head_width)
                             .reshape({sequences, tokens, heads, spec.head_width})
                             .transpose(1, 2);
    return x.repeat_interleave(spec.heads / heads, 1);
  };
  const at::Tensor q = heads_of(0, spec.heads), k = heads_of(spec.query_width(), spec.kv_heads),
                   v = heads_of(spec.query_width() + spec.key_width(), spec.kv_heads);
  at::Tensor hidden;
  if (spec.causal) hidden = at::ones({tokens, tokens}, at::kBool).triu(1);
  model::ExtraLogits extra;
  const auto& [sinks, extra_key, extra_value] = inputs.extras;
  if (sinks.defined()) extra.logits = sinks.view({1, -1, 1, 1});
  if (extra_key.defined()) {
    extra.logits =
        at::matmul(q, extra_key.view({1, spec.heads, spec.head_width, 1})) * spec.score_scale;
  }
  const at::Tensor logits = at::matmul(q, k.transpose(-1, -2)) * spec.score_scale;
  const at::Tensor weights = model::attention_weights(spec.scores, logits, hidden, extra);
  at::Tensor out = at::matmul(weights, v);
  if (extra_value.defined()) {
    out = out + (1 - weights.sum(-1, true)) * extra_value.view({1, spec.heads, 1, spec.head_width});
  }
  return out.transpose(1, 2).flatten(2);
}

/// The largest error beside the largest value.
double error(const at::Tensor& x, const at::Tensor& truth) {
  const double size = truth.abs().max().item<double>();
  return (x.to(at::kDouble) - truth).abs().max().item<double>() / std::max(size, 1e-30);
}

struct Case {
  const char* name;
  ScoreKind kind = ScoreKind::kSoftmax;
  bool causal = true;
  int64_t tokens = 32, heads = 1, kv_heads = 1, width = 64;
  bool sinks = false, extra_key = false, extra_value = false;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

ModelSpec spec_of(const Case& c) {
  ModelSpec spec;
  spec.heads = c.heads, spec.kv_heads = c.kv_heads, spec.head_width = c.width;
  spec.width = c.heads * c.width;
  spec.causal = c.causal;
  spec.score_scale = 1 / std::sqrt(static_cast<double>(c.width));
  spec.scores.kind = c.kind;
  if (c.kind == ScoreKind::kClipped) {
    spec.scores.stretch_low = -0.05, spec.scores.stretch_high = 1.02;
  }
  if (c.kind == ScoreKind::kSigmoid) spec.scores.bias = -std::log(c.tokens);
  return spec;
}

Inputs inputs_of(const Case& c, int64_t sequences) {
  Inputs inputs;
  inputs.qkv = 1.5 * normal(1, {sequences, c.tokens, (c.heads + 2 * c.kv_heads) * c.width});
  if (c.sinks) inputs.extras.sinks = 2 * normal(2, {c.heads});
  if (c.extra_key) inputs.extras.extra_key = normal(3, {c.heads * c.width});
  if (c.extra_value) inputs.extras.extra_value = normal(4, {c.heads * c.width});
  return inputs;
}

class Attention : public testing::TestWithParam<Case> {};

TEST_P(Attention, ValuesAndGradientsAreThoseOfThePlainFormula) {
  const Case& c = GetParam();
  const ModelSpec spec = spec_of(c);
  const Inputs given = inputs_of(c, 3);
  Inputs truth = given.in(at::kDouble), ours = given.in(at::kFloat);
  const at::Tensor slope = normal(5, {3, c.tokens, c.heads * c.width});
  const at::Tensor wanted = plain_attention(spec, truth);
  (wanted * slope.to(at::kDouble)).sum().backward();
  const at::Tensor out = kernels::attention(spec, ours.qkv, ours.extras);
  (out * slope).sum().backward();
  // Floor, measured: 8e-7; gradients of what is extra, sums with much cancellation, 2.7e-6.
  EXPECT_LT(error(out, wanted), 3e-6);
  for (size_t i = 0; i < ours.all().size(); ++i) {
    if (!ours.all()[i]->defined()) continue;
    EXPECT_LT(error(ours.all()[i]->grad(), truth.all()[i]->grad()), 1e-5) << i;
  }
}

constexpr ScoreKind kClipped = ScoreKind::kClipped, kSigmoid = ScoreKind::kSigmoid,
                    kRelu = ScoreKind::kRelu;
INSTANTIATE_TEST_SUITE_P(
    Forms, Attention,
    testing::Values(
        Case{.name = "softmax"}, Case{.name = "softmax, all", .causal = false},
        Case{.name = "odd sizes", .tokens = 37, .heads = 3, .kv_heads = 3, .width = 13},
        Case{.name = "odd sizes, all",
             .causal = false,
             .tokens = 21,
             .heads = 2,
             .kv_heads = 1,
             .width = 24},
        Case{.name = "several blocks", .tokens = 201, .heads = 2, .kv_heads = 2, .width = 32},
        Case{.name = "several blocks, all", .causal = false, .tokens = 130, .width = 16},
        Case{.name = "one token", .tokens = 1},
        Case{.name = "groups", .tokens = 70, .heads = 6, .kv_heads = 2, .width = 16},
        Case{.name = "sinks", .tokens = 40, .heads = 2, .kv_heads = 2, .width = 20, .sinks = true},
        Case{.name = "extra key",
             .tokens = 70,
             .heads = 2,
             .kv_heads = 2,
             .width = 20,
             .extra_key = true},
        Case{.name = "extra key and value",
             .tokens = 70,
             .heads = 2,
             .kv_heads = 2,
             .width = 20,
             .extra_key = true,
             .extra_value = true},
        Case{.name = "extra key and value, all",
             .causal = false,
             .width = 33,
             .extra_key = true,
             .extra_value = true},
        Case{.name = "clipped", .kind = kClipped, .tokens = 70, .heads = 2, .kv_heads = 2},
        Case{.name = "clipped, all", .kind = kClipped, .causal = false},
        Case{.name = "clipped, extra key and value",
             .kind = kClipped,
             .tokens = 70,
             .extra_key = true,
             .extra_value = true},
        Case{.name = "sigmoid", .kind = kSigmoid, .tokens = 70, .heads = 2, .kv_heads = 2},
        Case{.name = "sigmoid, all", .kind = kSigmoid, .causal = false, .tokens = 37},
        Case{.name = "relu", .kind = kRelu, .tokens = 70, .heads = 2, .kv_heads = 2},
        Case{.name = "relu, all", .kind = kRelu, .causal = false, .tokens = 37}));

/// Runs f once per instruction set that this machine has.
template <class F>
void for_each_target(F f) {
  for (const uint32_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    f(hwy::TargetName(target));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(AttentionKernel, EveryInstructionSetAgrees) {
  const Case c{.name = "",
               .tokens = 45,
               .heads = 2,
               .kv_heads = 2,
               .width = 21,
               .extra_key = true,
               .extra_value = true};
  const ModelSpec spec = spec_of(c);
  const Inputs given = inputs_of(c, 2);
  const Inputs truth = given.in(at::kDouble);
  const at::Tensor wanted = plain_attention(spec, truth);
  wanted.square().sum().backward();
  for_each_target([&](const char* target) {
    const Inputs ours = given.in(at::kFloat);
    const at::Tensor out = kernels::attention(spec, ours.qkv, ours.extras);
    out.square().sum().backward();
    EXPECT_LT(error(out, wanted), 3e-6) << target;
    EXPECT_LT(error(ours.qkv.grad(), truth.qkv.grad()), 3e-6) << target;
  });
}

/// A weight or an input in both precisions.
struct Pair {
  explicit Pair(const at::Tensor& x)
      : ours(x.detach().clone().requires_grad_(true)),
        truth(x.detach().to(at::kDouble).requires_grad_(true)) {}
  at::Tensor ours, truth;
};

void expect_mlp(model::Activation activation, bool biased) {
  // Odd sizes; inputs wide enough for the flat ends of GELU.
  const Pair x(3 * normal(1, {7, 90, 13})), up(normal(2, {29, 13})), up_bias(normal(3, {29})),
      down(normal(4, {13, 29})), down_bias(normal(5, {13}));
  const at::Tensor slope = normal(6, {7, 90, 13}), none;
  const at::Tensor inner =
      biased ? at::linear(x.truth, up.truth, up_bias.truth) : at::linear(x.truth, up.truth);
  const at::Tensor active = activation == model::Activation::kRelu ? inner.relu() : at::gelu(inner);
  const at::Tensor wanted =
      biased ? at::linear(active, down.truth, down_bias.truth) : at::linear(active, down.truth);
  (wanted * slope.to(at::kDouble)).sum().backward();
  const at::Tensor out = kernels::mlp(activation, x.ours, {up.ours, biased ? up_bias.ours : none},
                                      {down.ours, biased ? down_bias.ours : none});
  (out * slope).sum().backward();
  // Floor, measured: 6e-7.
  EXPECT_LT(error(out, wanted), 3e-6);
  for (const Pair* pair : {&x, &up, &down, &up_bias, &down_bias}) {
    if (!biased && pair->ours.dim() == 1) continue;
    EXPECT_LT(error(pair->ours.grad(), pair->truth.grad()), 3e-6) << pair->ours.sizes();
  }
}

TEST(Mlp, IsThePlainFormula) {
  for (const bool biased : {false, true}) {
    expect_mlp(model::Activation::kGelu, biased);
    expect_mlp(model::Activation::kRelu, biased);
  }
}

void expect_linear(int64_t rows, int64_t inputs, int64_t outputs, bool biased, const char* target) {
  const Pair x(normal(1, {rows, inputs})), w(normal(2, {outputs, inputs})), b(normal(3, {outputs}));
  const at::Tensor slope = normal(4, {rows, outputs});
  const at::Tensor wanted =
      biased ? at::linear(x.truth, w.truth, b.truth) : at::linear(x.truth, w.truth);
  (wanted * slope.to(at::kDouble)).sum().backward();
  const at::Tensor out = kernels::linear(x.ours, {w.ours, biased ? b.ours : at::Tensor()});
  (out * slope).sum().backward();
  EXPECT_LT(error(out, wanted), 2e-6) << target << ", " << rows;
  for (const Pair* pair : {&x, &w, &b}) {
    if (!biased && pair == &b) continue;
    EXPECT_LT(error(pair->ours.grad(), pair->truth.grad()), 2e-6) << target << ", " << rows;
  }
}

TEST(Linear, IsThePlainFormulaOnEveryInstructionSet) {
  for_each_target([](const char* target) {
    for (const bool biased : {false, true}) {
      expect_linear(1, 1, 1, biased, target);
      expect_linear(300, 64, 192, biased, target);
      expect_linear(131, 37, 33, biased, target);
      expect_linear(257, 150, 8, biased, target);  // rows that are copied first
      expect_linear(300, 200, 130, biased, target);
      expect_linear(7, 16, 65, biased, target);
    }
  });
}

TEST(SquaredError, IsThePlainFormula) {
  const Pair x(normal(1, {9, 17, 37}));
  const at::Tensor target = normal(2, {9, 17, 37}), weights = uniform(3, {9, 17});
  const at::Tensor wanted = ((x.truth - target).square().mean(-1) * weights).sum();
  const at::Tensor sum = kernels::weighted_squared_error(x.ours, target, weights);
  EXPECT_LT(error(sum, wanted), 1e-6);
  (3 * wanted).backward();
  (3 * sum).backward();
  EXPECT_LT(error(x.ours.grad(), x.truth.grad()), 1e-6);
}

}  // namespace
}  // namespace sinkscope::train
