// What scores become, and the global pathway: the identities of method.md section 17, in float64.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "sinkscope/model/layers/pathway.h"
#include "sinkscope/model/layers/scores.h"

namespace sinkscope::model {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double largest(const at::Tensor& t) { return t.abs().max().item<double>(); }

/// Normal numbers that are the same in every run, whatever else drew some.
at::Tensor normal(at::IntArrayRef shape, uint64_t seed = 1) {
  at::manual_seed(seed);
  return at::randn(shape, at::kDouble);
}

at::Tensor causal(int64_t tokens) {
  return at::ones({tokens, tokens}, at::kBool).triu(1);  // true: not seen
}

const ScoreForm kClip{ScoreKind::kClipped, -0.1, 1.05, 0};

TEST(AttentionWeights, ASinkLogitIsAKeyOfValueZeroAndAScaledPlainOutput) {
  const at::Tensor logits = 3 * normal({2, 9, 9}), v = normal({2, 9, 4}, 2), hidden = causal(9);
  const at::Tensor b = at::tensor({0.7, -1.3}, at::kDouble).view({2, 1, 1});
  at::Tensor share;
  const at::Tensor with = attention_weights({}, logits, hidden, {b}, &share);
  // A key more, of logit b, that all queries see.
  const at::Tensor longer = at::cat({logits, b.expand({2, 9, 1})}, -1);
  const at::Tensor key =
      attention_weights({}, longer, at::cat({hidden, at::zeros({9, 1}, at::kBool)}, 1));
  const at::Tensor values = at::cat({v, at::zeros({2, 1, 4}, at::kDouble)}, 1);
  EXPECT_LE(largest(at::matmul(with, v) - at::matmul(key, values)), 1e-15);
  EXPECT_LE(largest(share - key.narrow(-1, 9, 1)), 1e-15);
  const at::Tensor lse = at::logsumexp(logits.masked_fill(hidden, -kInfinity), -1, true);
  const at::Tensor plain = at::matmul(attention_weights({}, logits, hidden), v);
  EXPECT_LE(largest(at::matmul(with, v) - (lse - b).sigmoid() * plain), 1e-15);
  EXPECT_LE(largest(with.sum(-1, true) + share - 1), 1e-15);
}

TEST(AttentionWeights, OffByOneIsALogitOfZeroAndNoneIsOneOfMinusInfinity) {
  const at::Tensor logits = 2 * normal({3, 6, 6});
  const at::Tensor exponentials = logits.exp();
  EXPECT_LE(largest(attention_weights({}, logits, {}, {at::zeros({1, 1, 1}, at::kDouble)}) -
                    exponentials / (1 + exponentials.sum(-1, true))),
            1e-15);
  EXPECT_LE(
      largest(attention_weights({}, logits, {}, {at::full({1, 1, 1}, -kInfinity, at::kDouble)}) -
              attention_weights({}, logits, {})),
      1e-15);
}

TEST(AttentionWeights, ClippedSoftmaxIsSoftmaxUntilItClips) {
  const at::Tensor logits = 3 * normal({2, 12, 12}), hidden = causal(12);
  const at::Tensor plain = attention_weights({}, logits, hidden);
  EXPECT_TRUE(at::equal(attention_weights({ScoreKind::kClipped, 0, 1, 0}, logits, hidden), plain));
  const at::Tensor clipped = attention_weights(kClip, logits, hidden);
  const double cut = 0.1 / 1.15;
  EXPECT_EQ(largest(clipped.masked_select(plain.lt(cut - 1e-12))), 0);
  EXPECT_GT(clipped.masked_select(plain.gt(cut + 1e-12)).min().item<double>(), 0);
  EXPECT_LE(clipped.max().item<double>(), 1);
  const at::Tensor middle = plain.gt(0.3).logical_and(plain.lt(0.8));
  ASSERT_GT(middle.sum().item<int64_t>(), 3);
  EXPECT_LE(largest((clipped - (1.15 * plain - 0.1)).masked_select(middle)), 1e-15);
  // The extra logit's share is clipped like any other.
  at::Tensor share;
  attention_weights(kClip, logits, hidden, {at::full({1, 1, 1}, 9.0, at::kDouble)}, &share);
  EXPECT_EQ(share.max().item<double>(), 1);
}

TEST(AttentionWeights, SigmoidAndReluTreatEveryKeyAlone) {
  const at::Tensor logits = 2 * normal({2, 5, 5}), hidden = causal(5);
  const at::Tensor sigmoid = attention_weights({ScoreKind::kSigmoid, 0, 1, -1.5}, logits, hidden);
  const at::Tensor relu = attention_weights({ScoreKind::kRelu, 0, 1, 0}, logits, hidden);
  for (int64_t h = 0; h < 2; ++h) {
    for (int64_t i = 0; i < 5; ++i) {
      for (int64_t j = 0; j < 5; ++j) {
        const double l = logits[h][i][j].item<double>();
        const bool seen = j <= i;
        EXPECT_NEAR(sigmoid[h][i][j].item<double>(), seen ? 1 / (1 + std::exp(1.5 - l)) : 0, 1e-15);
        EXPECT_NEAR(relu[h][i][j].item<double>(),
                    seen ? std::max(l, 0.0) / static_cast<double>(i + 1) : 0, 1e-15);
      }
    }
  }
  const at::Tensor all = attention_weights({ScoreKind::kRelu, 0, 1, 0}, logits, {});
  EXPECT_LE(largest(all - logits.relu() / 5), 1e-15);
}

TEST(AttentionWeights, AQueryThatSeesNothingGetsNothing) {
  const at::Tensor logits = normal({1, 3, 3});
  at::Tensor hidden = at::zeros({3, 3}, at::kBool);
  hidden[1].fill_(true);
  for (const ScoreKind kind :
       {ScoreKind::kSoftmax, ScoreKind::kClipped, ScoreKind::kSigmoid, ScoreKind::kRelu}) {
    const at::Tensor weights = attention_weights({kind, -0.1, 1, 0}, logits, hidden);
    EXPECT_EQ(largest(weights[0][1]), 0) << static_cast<int>(kind);
    EXPECT_GT(largest(weights[0][0]), 0) << static_cast<int>(kind);
  }
  at::Tensor share;
  attention_weights({}, logits, hidden, {at::zeros({1, 1, 1}, at::kDouble)}, &share);
  EXPECT_EQ(share[0][1].item<double>(), 0);
}

struct Pathway {
  Linear select, value, gate, out;
  Pathway()
      : select{normal({1, 8}, 3), {}},
        value{normal({3, 8}, 4), {}},
        gate{normal({1, 8}, 5), normal({1}, 6)},
        out{normal({8, 3}, 7), {}} {}
  at::Tensor of(const at::Tensor& z) const { return pathway_update(z, select, value, gate, out); }
};

TEST(Pathway, IsItsFormula) {
  const Pathway p;
  const at::Tensor z = normal({5, 8}), got = p.of(z);
  at::Tensor total = at::zeros({1}, at::kDouble), g = at::zeros({3}, at::kDouble);
  for (int64_t j = 0; j < 5; ++j) {
    const at::Tensor share = at::matmul(p.select.weight, z[j]).exp();
    total = total + share;
    g = g + share * at::matmul(p.value.weight, z[j]);
  }
  const at::Tensor message = at::matmul(p.out.weight, g / total);
  for (int64_t i = 0; i < 5; ++i) {
    const at::Tensor gate = (at::matmul(p.gate.weight, z[i]) + p.gate.bias).sigmoid();
    EXPECT_LE(largest(got[i] - gate * message), 1e-14);
  }
}

TEST(Pathway, IsOfRankOneAndFollowsAPermutation) {
  const Pathway p;
  const at::Tensor z = normal({2, 7, 8}), update = p.of(z);
  for (int64_t b = 0; b < 2; ++b) {
    const at::Tensor s = std::get<1>(at::svd(update[b]));
    EXPECT_LE((s[1] / s[0]).item<double>(), 1e-14);
    EXPECT_LE(largest(p.of(z[b]) - update[b]), 1e-14);  // sequences do not see each other
  }
  const at::Tensor order = at::tensor({3, 0, 6, 1, 5, 2, 4}, at::kLong);
  EXPECT_LE(largest(p.of(z.index_select(1, order)) - update.index_select(1, order)), 1e-14);
}

TEST(Pathway, AFixedGateGivesEveryTokenTheSame) {
  Pathway p;
  p.gate.weight = at::zeros({1, 8}, at::kDouble);
  const at::Tensor update = p.of(normal({6, 8}));
  const double common = update.mean(0).square().sum().item<double>() * 6;
  EXPECT_NEAR(common / update.square().sum().item<double>(), 1, 1e-14);
}

}  // namespace
}  // namespace sinkscope::model
