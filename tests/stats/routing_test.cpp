#include "sinkscope/stats/routing.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sinkscope/stats/value_norms.h"
#include "tests/stats/matrices.h"

namespace sinkscope::stats {
namespace {

/// Heads given by their attention [H, T, T] and the values [T, G, K] of their groups.
struct Heads {
  at::Tensor attention, values, gram;
  std::vector<theory::SeenKeys> seen;
  std::vector<int64_t> dominant;
  std::vector<bool> conditional;
  at::Tensor context;
  int calls = 0;  // of the pattern

  Heads(const at::Tensor& a, const at::Tensor& v)
      : attention(a.to(at::kFloat)), values(v.to(at::kFloat)) {
    const int64_t heads = attention.size(0), tokens = attention.size(1);
    for (int64_t i = 0; i < tokens; ++i) seen.push_back({0, i + 1});
    dominant.assign(static_cast<size_t>(heads), 0);
    conditional.assign(static_cast<size_t>(heads), false);
    gram = test::identity(values.size(2)).to(at::kFloat).expand({heads, -1, -1}).contiguous();
    const at::Tensor per_head =
        values.transpose(0, 1).repeat_interleave(heads / values.size(1), 0);  // [H, T, K]
    context = at::matmul(attention.to(at::kDouble), per_head.to(at::kDouble))
                  .transpose(0, 1)
                  .to(at::kFloat);
  }

  std::vector<RoutingValues> measure() {
    const std::vector<ValueNorms> norms = value_norms(values, gram);
    std::vector<const ValueNorms*> pointers;
    for (const ValueNorms& n : norms) pointers.push_back(&n);
    RoutingInput input;
    input.context = context, input.v = values, input.gram = gram;
    input.seen = seen, input.dominant = dominant, input.norms = pointers;
    input.conditional = conditional;
    input.pattern = [this](int64_t first, int64_t count) {
      ++calls;
      return attention.narrow(1, first, count);
    };
    return routing(input);
  }
  RoutingValues measure_one() { return measure().at(0); }
};

using Rows = std::vector<std::vector<double>>;

/// One head.
Heads head_of(const Rows& attention, const Rows& values) {
  return {test::matrix(attention).unsqueeze(0), test::matrix(values).unsqueeze(1)};
}

/// Softmax rows over the keys [first, last) of each query; `toward` is added to the logit of key 0.
at::Tensor softmax_rows(const std::vector<theory::SeenKeys>& seen, double toward, uint64_t seed) {
  const auto tokens = static_cast<int64_t>(seen.size());
  at::Tensor rows = at::zeros({tokens, tokens}, at::kFloat);
  const at::Tensor logits = test::random_tensor({tokens, tokens}, seed);
  for (int64_t i = 0; i < tokens; ++i) {
    const auto [first, last] = seen[static_cast<size_t>(i)];
    at::Tensor row = logits[i].slice(0, first, last).clone();
    if (first == 0) row[0] += toward;
    rows[i].slice(0, first, last).copy_(row.softmax(0));
  }
  return rows;
}

std::vector<theory::SeenKeys> causal(int64_t tokens) {
  std::vector<theory::SeenKeys> seen;
  for (int64_t i = 0; i < tokens; ++i) seen.push_back({0, i + 1});
  return seen;
}

// ------------------------------------------------------------------------ method.md section 10

TEST(Routing, OppositeValuesCancel) {
  Heads head = head_of({{1, 0, 0}, {0, 1, 0}, {0, 0.5, 0.5}}, {{0, 0}, {1, 0}, {-1, 0}});
  const RoutingValues routing = head.measure_one();
  EXPECT_EQ(routing.counts.queries, 2);
  EXPECT_EQ(routing.counts.dormant, 1);
  EXPECT_EQ(routing.counts.reasons.cancel, 1);
  EXPECT_EQ(routing.counts.rho_bins[0], 1);
  EXPECT_EQ(routing.counts.rho_bins[9], 1);
  EXPECT_EQ(routing.values.margin, 0);
  EXPECT_EQ(routing.violations, 0);
  EXPECT_EQ(routing.min_to_key, 0);
}

TEST(Routing, AQueryThatReadsItsOwnZeroValue) {
  Heads head = head_of({{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {{1, 0}, {0, 1}, {0, 0}});
  const RoutingValues routing = head.measure_one();
  EXPECT_EQ(routing.counts.dormant, 1);
  EXPECT_EQ(routing.counts.reasons.self, 1);
  EXPECT_EQ(routing.counts.soft, 2);
  // Near miss: not enough attention to itself, and nothing cancels.
  Heads other = head_of({{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0.4, 0.6}},
                        {{1, 0}, {0, 1}, {0, 0}, {0, 0.01}});
  EXPECT_EQ(other.measure_one().counts.reasons.self, 1);
  EXPECT_EQ(other.measure_one().counts.reasons.small, 1);
}

// A_is = 0.95, v_s = 0, unit values with first coordinate at least 0.8.
TEST(Routing, TheSinkExplainsDormantQueriesOfAHalfSpace) {
  constexpr int64_t kTokens = 40;
  Rows attention, values;
  for (int64_t i = 0; i < kTokens; ++i) {
    std::vector<double> row(kTokens, 0);
    for (int64_t j = 1; j <= i; ++j) row[static_cast<size_t>(j)] = 0.05 / static_cast<double>(i);
    row[0] = i == 0 ? 1 : 0.95;
    attention.push_back(row);
    const double angle = std::acos(0.8) * std::sin(static_cast<double>(i));
    values.push_back(i == 0 ? std::vector<double>{0, 0}
                            : std::vector<double>{std::cos(angle), std::sin(angle)});
  }
  Heads head = head_of(attention, values);
  const RoutingValues routing = head.measure_one();
  EXPECT_EQ(routing.counts.queries, kTokens - 1);  // query 0 sees itself alone
  EXPECT_EQ(routing.counts.dormant, kTokens - 1);
  EXPECT_EQ(routing.counts.reasons.sink, kTokens - 1);
  EXPECT_EQ(routing.counts.off_bins[2], kTokens - 1);  // 0.03 < off <= 0.1
  EXPECT_EQ(routing.counts.tables[0].off_sink, kTokens - 1);
  EXPECT_GE(routing.values.margin, 0.8 - 1e-6);
  EXPECT_TRUE(routing.values.sink_inside);
  EXPECT_EQ(routing.violations, 0);
  EXPECT_NEAR(routing.min_to_key, 0.95, 1e-6);
  EXPECT_EQ(routing.values.rank, 2);
  EXPECT_EQ(routing.values.count, kTokens - 1);
}

TEST(Routing, RandomHeadsKeepTheBoundAndItIsTight) {
  int64_t with_premise = 0, nearly_broken = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    constexpr int64_t kTokens = 24, kWidth = 6;
    at::Tensor values = test::random_tensor({kTokens, 1, kWidth}, seed) * 0.5;
    values.select(2, 0) += 1.5;
    values[0] *= seed % 3 == 0 ? 0 : 0.1;
    Heads head(
        softmax_rows(causal(kTokens), static_cast<double>(seed % 7), seed + 100).unsqueeze(0),
        values);
    const RoutingValues routing = head.measure_one();
    const bool premise = routing.values.margin > 0 && routing.values.sink_inside;
    with_premise += premise;
    EXPECT_EQ(routing.violations, 0);
    // An output of another head: the bound must be able to fail.
    head.context *= 0.3;
    nearly_broken += head.measure_one().violations;
  }
  EXPECT_GT(with_premise, 15);
  EXPECT_GT(nearly_broken, 100);
  // Attained: one value beside the sink.
  Heads tight = head_of({{1, 0, 0}, {0.4, 0.6, 0}, {0.5, 0.25, 0.25}}, {{0, 0}, {2, 0}, {2, 0}});
  EXPECT_EQ(tight.measure_one().violations, 0);
  tight.context *= 1 - 1e-5;
  EXPECT_EQ(tight.measure_one().violations, 2);
}

TEST(Routing, ASinkOutsideTheHalfSpaceVoidsTheBound) {
  Heads head = head_of({{1, 0}, {0.5, 0.5}}, {{-1, 0}, {1, 0}});
  const RoutingValues routing = head.measure_one();
  EXPECT_NEAR(routing.values.margin, 1, 1e-12);
  EXPECT_FALSE(routing.values.sink_inside);
  EXPECT_EQ(routing.violations, 0);  // ctx = 0 with A_is = 0.5: the premise fails
  EXPECT_EQ(routing.counts.reasons.cancel, 1);
}

TEST(Routing, ALearnedSinkLogitTakesTheMissingMass) {
  // Row sums 0.9 and 0.08: the logit has the rest, and the value zero.
  Heads head = head_of({{0.9, 0}, {0.05, 0.03}}, {{1, 0}, {0.6, 0.8}});
  head.dominant = {kNoValueKey};
  const RoutingValues routing = head.measure_one();
  EXPECT_NEAR(routing.min_to_key, 0.1, 1e-6);
  EXPECT_EQ(routing.counts.queries, 1);
  EXPECT_EQ(routing.counts.reasons.sink, 1);
  EXPECT_EQ(routing.values.count, 2);
  EXPECT_TRUE(routing.values.sink_inside);
  EXPECT_EQ(routing.violations, 0);
  EXPECT_NEAR(routing.mixing.to_sink, 0.92, 1e-6);
  EXPECT_EQ(routing.mixing.rest_sq, routing.mixing.rest_payload_sq);
}

TEST(Routing, ZeroValuesAndShortInputs) {
  Heads zero = head_of({{1, 0}, {0.5, 0.5}}, {{0, 0}, {0, 0}});
  EXPECT_EQ(zero.measure_one().counts.queries, 0);
  EXPECT_EQ(zero.measure_one().values.margin, 0);
  EXPECT_EQ(zero.measure_one().mixing.out_sq, 0);
  Heads one = head_of({{1}}, {{1, 2}});
  EXPECT_EQ(one.measure_one().counts.queries, 0);
  EXPECT_EQ(one.measure_one().values.count, 0);
  EXPECT_TRUE(std::isnan(one.measure_one().values.margin));
  EXPECT_EQ(one.measure_one().min_to_key, 1);
  EXPECT_EQ(one.measure_one().mixing.queries, 0);
}

// ------------------------------------------------------------------------ method.md section 11

TEST(Mixing, IdentityActsOnEveryTokenAlone) {
  Heads head(test::identity(16).unsqueeze(0), test::random_tensor({16, 1, 8}, 3));
  const MixingSums sums = head.measure_one().mixing;
  EXPECT_EQ(sums.queries, 15);
  EXPECT_EQ(sums.to_self, 15);
  EXPECT_EQ(sums.rest_sq, 0);
  EXPECT_NEAR(sums.out_sq / sums.self_sq, 1, 1e-6);
}

TEST(Mixing, ASinkWithoutAndWithAPayload) {
  at::Tensor rows = at::zeros({16, 16});
  rows.select(1, 0) += 1;
  at::Tensor values = test::random_tensor({16, 1, 8}, 4);
  const MixingSums payload = Heads(rows.unsqueeze(0), values).measure_one().mixing;
  EXPECT_EQ(payload.to_sink, 15);
  EXPECT_EQ(payload.rest_sq, 0);
  EXPECT_NEAR(payload.rest_payload_sq / payload.out_sq, 1, 1e-6);
  values[0] *= 0;
  EXPECT_EQ(Heads(rows.unsqueeze(0), values).measure_one().mixing.out_sq, 0);
}

TEST(Mixing, UniformAttentionCommunicates) {
  at::Tensor rows = at::zeros({64, 64});
  for (int64_t i = 0; i < 64; ++i) rows[i].slice(0, 0, i + 1) += 1.0 / static_cast<double>(i + 1);
  const MixingSums sums =
      Heads(rows.unsqueeze(0), test::random_tensor({64, 1, 32}, 5)).measure_one().mixing;
  EXPECT_GT(std::sqrt(sums.rest_sq / sums.out_sq), 0.5);
  EXPECT_LT(std::sqrt(sums.out_sq / sums.self_sq), 0.5);
}

// ------------------------------------------------------------------------------- against loops

/// Sections 10 and 11 from their formulas, one query at a time.
void expect_formulas(Heads& heads, const RoutingValues& got, int64_t head) {
  const int64_t group = head / (heads.attention.size(0) / heads.values.size(1));
  const int64_t key = heads.dominant[static_cast<size_t>(head)], tokens = heads.attention.size(1);
  const at::Tensor a = heads.attention[head].to(at::kDouble),
                   v = heads.values.select(1, group).to(at::kDouble),
                   g = heads.gram[head].to(at::kDouble);
  const auto length = [](const at::Tensor& x) { return x.norm().item<double>(); };
  const auto out_sq = [&](const at::Tensor& x) {
    return at::matmul(x, at::matmul(g, x)).item<double>();
  };
  double mean = 0;
  for (int64_t j = 0; j < tokens; ++j) mean += j == key ? 0 : length(v[j]);
  mean /= static_cast<double>(tokens - 1);
  int64_t queries = 0, dormant = 0, sink = 0, soft = 0, mixing = 0;
  double rest = 0, with_payload = 0, size = 0, own = 0, least = 2;
  for (int64_t i = 0; i < tokens; ++i) {
    const auto [first, last] = heads.seen[static_cast<size_t>(i)];
    const at::Tensor context = at::matmul(a[i], v);
    const double to_key = a[i][key].item<double>(), to_self = a[i][i].item<double>();
    const bool sees = first <= key && key < last;
    if (sees) least = std::min(least, to_key);
    if (sees && last - first > 1) {
      const bool off = length(context) <= kDormant * mean;
      queries += 1, dormant += off, sink += off && to_key >= 0.7, soft += off || to_self >= 0.7;
    }
    if (last - first < 2 || i == key) continue;
    mixing += 1;
    rest += out_sq(context - to_self * v[i] - to_key * v[key]);
    with_payload += out_sq(context - to_self * v[i]);
    size += out_sq(context), own += out_sq(v[i]);
  }
  EXPECT_NEAR(got.min_to_key, least, 1e-7);
  EXPECT_EQ(got.counts.queries, queries);
  EXPECT_EQ(got.counts.dormant, dormant);
  EXPECT_EQ(got.counts.tables[1].off_sink, sink);
  EXPECT_EQ(got.counts.soft, soft);
  EXPECT_EQ(got.mixing.queries, mixing);
  EXPECT_NEAR(got.mixing.out_sq / size, 1, 1e-5);
  EXPECT_NEAR(got.mixing.self_sq / own, 1, 1e-5);
  EXPECT_NEAR(got.mixing.rest_sq / rest, 1, 1e-5);
  EXPECT_NEAR(got.mixing.rest_payload_sq / with_payload, 1, 1e-5);
}

TEST(Routing, EqualsTheFormulasInAnyVisibility) {
  constexpr int64_t kTokens = 300;  // several blocks of rows
  for (const int kind : {0, 1, 2}) {
    std::vector<theory::SeenKeys> seen;
    for (int64_t i = 0; i < kTokens; ++i) {
      const int64_t document = i / 130 * 130;
      if (kind == 0) seen.push_back({0, i + 1});
      if (kind == 1) seen.push_back({std::max<int64_t>(0, i - 39), i + 1});
      if (kind == 2) seen.push_back({document, std::min(kTokens, document + 130)});
    }
    std::vector<at::Tensor> rows;
    for (uint64_t h = 0; h < 4; ++h)
      rows.push_back(softmax_rows(seen, 3.0 * static_cast<double>(h), h + 60));
    at::Tensor values = test::random_tensor({kTokens, 2, 8}, 70);
    values[0] *= 0.01;
    Heads heads(at::stack(rows), values);
    const at::Tensor w_o = test::random_tensor({12, 32}, 71);
    heads.gram = output_gram(w_o, 4);
    heads.seen = seen;
    heads.dominant = {0, 5, 0, 0};
    const std::vector<RoutingValues> got = heads.measure();
    EXPECT_GT(heads.calls, 1);
    for (int64_t h = 0; h < 4; ++h) expect_formulas(heads, got[static_cast<size_t>(h)], h);
    EXPECT_GT(got[3].counts.dormant, 10);
  }
}

TEST(Routing, RoutedQueriesOfAConditionalSink) {
  // Even queries read key 0 alone, the odd ones themselves: the routed rows are equal.
  at::Tensor rows = at::zeros({20, 20});
  for (int64_t i = 0; i < 20; ++i) rows[i][i % 2 == 0 ? 0 : i] = 1;
  Heads head(rows.unsqueeze(0), test::random_tensor({20, 1, 8}, 80));
  EXPECT_TRUE(std::isnan(head.measure_one().routed_stable_rank));
  head.conditional = {true};
  EXPECT_NEAR(head.measure_one().routed_stable_rank, 1, 1e-6);
  // Near miss: half of the routed queries' attention goes to themselves, and the values are e_j.
  for (int64_t i = 2; i < 20; i += 2) rows[i][0] = 0.5, rows[i][i] = 0.5;
  Heads mixed(rows.unsqueeze(0), test::identity(20).unsqueeze(1));
  mixed.conditional = {true};
  EXPECT_NEAR(mixed.measure_one().routed_stable_rank, 5.5 / (1.75 + std::sqrt(2.8125)), 1e-5);
}

TEST(Routing, HeadsLeftOutAreNotMeasured) {
  Heads heads(at::stack({softmax_rows(causal(20), 0, 1), softmax_rows(causal(20), 0, 2)}),
              test::random_tensor({20, 1, 8}, 90));
  heads.dominant = {kHeadLeftOut, 3};
  const std::vector<RoutingValues> got = heads.measure();
  EXPECT_EQ(got[0].mixing.queries, 0);
  EXPECT_EQ(got[1].mixing.queries, 18);
}

}  // namespace
}  // namespace sinkscope::stats
