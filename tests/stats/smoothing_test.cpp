#include "sinkscope/stats/smoothing.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/stats/matrices.h"

namespace sinkscope::stats {
namespace {

constexpr int64_t kHeads = 4, kGroups = 2, kWidth = 8, kModel = 20;
constexpr double kGrid[] = {0, 0.25, 0.5, 0.75, 1};

std::vector<theory::SeenKeys> causal(int64_t tokens, int64_t window = 0) {
  std::vector<theory::SeenKeys> seen;
  for (int64_t i = 0; i < tokens; ++i) {
    seen.push_back({window > 0 ? std::max<int64_t>(0, i - window + 1) : 0, i + 1});
  }
  return seen;
}

std::vector<theory::SeenKeys> documents(int64_t tokens, int64_t length) {
  std::vector<theory::SeenKeys> seen;
  for (int64_t i = 0; i < tokens; ++i) {
    const int64_t first = i / length * length;
    seen.push_back({first, std::min(tokens, first + length)});
  }
  return seen;
}

/// A layer of one stream with tensors of its own.
struct Layer {
  std::vector<theory::SeenKeys> seen;
  std::vector<int64_t> dominant = std::vector<int64_t>(kHeads, 0), left_out = {0};
  at::Tensor w_o;
  SmoothingInput input;

  explicit Layer(std::vector<theory::SeenKeys> keys, uint64_t seed = 1) : seen(std::move(keys)) {
    const auto tokens = static_cast<int64_t>(seen.size());
    w_o = test::random_tensor({kModel, kHeads * kWidth}, seed) * 0.3;
    input.step = test::random_tensor({tokens, kModel}, seed + 1) + 0.5;
    input.context = test::random_tensor({tokens, kHeads, kWidth}, seed + 2) * 0.4 + 0.1;
    input.v = test::random_tensor({tokens, kGroups, kWidth}, seed + 3) + 0.2;
    input.lambdas = kGrid;
  }
  Layer(const Layer&) = delete;

  std::vector<SmoothingValues> measure() {
    input.seen = seen, input.dominant = dominant, input.left_out = left_out;
    return smoothing(input, output_space(w_o, kHeads), nullptr);
  }
  std::vector<SmoothingValues> measure(const OutputSpace& normed) {
    input.seen = seen, input.dominant = dominant, input.left_out = left_out;
    return smoothing(input, output_space(w_o, kHeads), &normed);
  }

  /// The step of every token with `rows` [T, T] in place of the head's attention, in float64.
  at::Tensor step(int64_t head, const at::Tensor& rows, bool skip) const {
    const auto gated = [&](const at::Tensor& x) {
      const at::Tensor y = x.to(at::kDouble);
      return input.gate.defined() ? y * input.gate.select(1, head).to(at::kDouble) : y;
    };
    const at::Tensor map = w_o.narrow(1, head * kWidth, kWidth).to(at::kDouble).t();
    const at::Tensor v = input.v.select(1, head / (kHeads / kGroups)).to(at::kDouble);
    at::Tensor update = at::matmul(gated(at::matmul(rows, v)), map);
    if (!skip) return update;
    return update + input.step.to(at::kDouble) -
           at::matmul(gated(input.context.select(1, head)), map);
  }

  at::Tensor rows(double lambda) const {
    const auto tokens = static_cast<int64_t>(seen.size());
    at::Tensor rows = at::zeros({tokens, tokens}, at::kDouble);
    for (int64_t i = 0; i < tokens; ++i) {
      const auto [first, last] = seen[static_cast<size_t>(i)];
      rows[i].slice(0, first, last) += lambda / static_cast<double>(last - first);
      rows[i][i] += 1 - lambda;
    }
    return rows;
  }

  at::Tensor sink_rows(int64_t key) const {
    const auto tokens = static_cast<int64_t>(seen.size());
    at::Tensor rows = at::zeros({tokens, tokens}, at::kDouble);
    for (int64_t i = 0; i < tokens && key >= 0; ++i) {
      const auto [first, last] = seen[static_cast<size_t>(i)];
      rows[i][first <= key && key < last ? key : i] = 1;
    }
    return rows;
  }
};

/// Mean cosine over the pairs of rows.
double pair_mean(const at::Tensor& y, const std::vector<int64_t>& left_out) {
  std::vector<at::Tensor> rows;
  for (int64_t t = 0; t < y.size(0); ++t) {
    if (std::find(left_out.begin(), left_out.end(), t) == left_out.end()) rows.push_back(y[t]);
  }
  const at::Tensor kept = at::stack(rows);
  const at::Tensor unit = kept / kept.norm(2, 1, true);
  const double n = static_cast<double>(kept.size(0));
  return (at::matmul(unit, unit.t()).sum().item<double>() - n) / (n * (n - 1));
}

// float32 products of unit vectors; the largest difference seen is 2e-7.
constexpr double kNoise = 2e-6;

void expect_curves(const StepCurves& got, const Layer& layer, int64_t head, bool skip,
                   const at::Tensor& channels = {}) {
  const auto seen_as = [&](const at::Tensor& y) {
    return channels.defined() ? at::matmul(y, channels) : y;
  };
  for (const bool all : {false, true}) {
    const StepCosines& cosines = all ? got.all : got.rest;
    const std::vector<int64_t> left_out = all ? std::vector<int64_t>() : layer.left_out;
    for (size_t l = 0; l < std::size(kGrid); ++l) {
      const at::Tensor y = layer.step(head, layer.rows(kGrid[l]), skip);
      EXPECT_NEAR(cosines.by_lambda[l], pair_mean(seen_as(y), left_out), kNoise);
    }
    const at::Tensor own = skip ? layer.input.step.to(at::kDouble) : at::Tensor();
    if (skip) {
      EXPECT_NEAR(cosines.actual, pair_mean(seen_as(own), left_out), kNoise);
    }
    const int64_t key = layer.dominant[static_cast<size_t>(head)];
    if (key >= 0 || skip) {
      const at::Tensor y = layer.step(head, layer.sink_rows(key), skip);
      EXPECT_NEAR(cosines.sink, pair_mean(seen_as(y), left_out), kNoise);
    }
  }
}

TEST(SmoothingStats, EqualsTheStepsThemselves) {
  const std::vector<std::vector<theory::SeenKeys>> visibilities = {
      causal(33), causal(40, 7), documents(30, 30), documents(31, 8)};
  for (const auto& seen : visibilities) {
    Layer layer(seen);
    layer.dominant = {0, 3, kNoValueKey, 0};
    layer.left_out = {3, 17, 4};
    const std::vector<SmoothingValues> values = layer.measure();
    for (int64_t h = 0; h < kHeads; ++h) {
      const SmoothingValues& value = values[static_cast<size_t>(h)];
      EXPECT_EQ(value.left_out, 3);
      expect_curves(value.skip, layer, h, true);
      expect_curves(value.alone, layer, h, false);
      EXPECT_TRUE(value.normed.rest.by_lambda.empty());
    }
  }
}

TEST(SmoothingStats, TheHeadsOwnAttentionAlone) {
  Layer layer(causal(12));
  const std::vector<SmoothingValues> values = layer.measure();
  const at::Tensor context = layer.input.context.select(1, 1).to(at::kDouble),
                   map = layer.w_o.narrow(1, kWidth, kWidth).to(at::kDouble);
  EXPECT_NEAR(values[1].alone.rest.actual, pair_mean(at::matmul(context, map.t()), {0}), kNoise);
  EXPECT_NEAR(values[1].alone.all.sink, 1, kNoise);  // everyone reads key 0
}

TEST(SmoothingStats, AGateMultipliesWhatItsQueryReads) {
  Layer layer(causal(25));
  layer.input.gate = test::random_tensor({25, kHeads, kWidth}, 9).sigmoid();
  expect_curves(layer.measure()[2].skip, layer, 2, true);
  expect_curves(layer.measure()[2].alone, layer, 2, false);
}

TEST(SmoothingStats, BehindTheNextNorm) {
  Layer layer(causal(25));
  const at::Tensor gain = test::random_tensor({kModel}, 12);
  at::Tensor channels = test::identity(kModel) * gain.to(at::kDouble);
  expect_curves(layer.measure(output_space(layer.w_o, kHeads, gain, false))[1].normed, layer, 1,
                true, channels);
  const at::Tensor centring = test::identity(kModel) - 1.0 / static_cast<double>(kModel);
  expect_curves(layer.measure(output_space(layer.w_o, kHeads, gain, true))[1].normed, layer, 1,
                true, at::matmul(centring, channels));
}

// Position 0 as SmolLM2 has it: one channel 25,000 where the others are about 1.
TEST(SmoothingStats, AMassiveTokenCostsNoDigits) {
  Layer layer(causal(64));
  layer.input.step[0][5] = 25000;
  for (const SmoothingValues& value : layer.measure()) EXPECT_LT(value.skip.moments.skip, 100);
  expect_curves(layer.measure()[0].skip, layer, 0, true);
}

// A residual that the head almost cancels: what is left has 1/30 of its length, so that float32
// knows its square to 1e-4.
TEST(SmoothingStats, AHeadThatCancelsTheResidual) {
  Layer layer(causal(40));
  layer.input.v *= 0.03;
  layer.input.step =
      at::matmul(layer.input.context.select(1, 0), layer.w_o.narrow(1, 0, kWidth).t()) +
      test::random_tensor({40, kModel}, 20) * 0.02;
  const StepCurves curves = layer.measure()[0].skip;
  for (size_t l = 0; l < std::size(kGrid); ++l) {
    EXPECT_NEAR(curves.all.by_lambda[l], pair_mean(layer.step(0, layer.rows(kGrid[l]), true), {}),
                2e-4);
  }
}

double trace_covariance(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a.slice(0, 1), y = b.slice(0, 1);  // without token 0
  return ((x - x.mean(0)) * (y - y.mean(0))).sum().item<double>() / static_cast<double>(x.size(0));
}

TEST(SmoothingStats, MomentsAndPrediction) {
  Layer layer(causal(50, 12));
  const std::vector<SmoothingValues> values = layer.measure();
  for (int64_t h = 0; h < kHeads; ++h) {
    const StepCurves& curves = values[static_cast<size_t>(h)].skip;
    const at::Tensor nothing = at::zeros({50, 50}, at::kDouble);
    const at::Tensor r = layer.step(h, nothing, true), u = layer.step(h, layer.rows(0), false);
    EXPECT_NEAR(curves.moments.skip / trace_covariance(r, r), 1, 1e-6);
    EXPECT_NEAR(curves.moments.cross, trace_covariance(r, u), 1e-5);
    EXPECT_NEAR(curves.moments.update / trace_covariance(u, u), 1, 1e-6);
    const at::Tensor mean = (r + u).slice(0, 1).mean(0);
    EXPECT_NEAR(curves.moments.mean_sq, mean.square().sum().item<double>(), 1e-5);
    std::vector<theory::SeenKeys> queries = layer.seen;
    queries[0] = {};
    for (size_t l = 0; l < std::size(kGrid); ++l) {
      EXPECT_EQ(curves.predicted[l], theory::smoothed_cosine(curves.moments, kGrid[l], queries));
    }
  }
}

// Tokens that are what the prediction assumes: independent draws, in many dimensions. One draw of
// them scatters by about 0.01.
TEST(SmoothingStats, IndependentTokensFollowThePrediction) {
  constexpr int64_t kTokens = 256, kWide = 128;
  std::vector<theory::SeenKeys> seen = causal(kTokens);
  const std::vector<int64_t> dominant = {0};
  SmoothingInput input;
  input.v = test::random_tensor({kTokens, 1, kWide}, 31) + 0.3;
  input.context = input.v;
  input.step = test::random_tensor({kTokens, kWide}, 32) + 0.4 + input.v.select(1, 0);
  input.seen = seen, input.dominant = dominant, input.lambdas = kGrid;
  const SmoothingValues value =
      smoothing(input, output_space(test::identity(kWide), 1), nullptr)[0];
  for (size_t l = 0; l < std::size(kGrid); ++l) {
    EXPECT_NEAR(value.skip.rest.by_lambda[l], value.skip.predicted[l], 0.02);
  }
  EXPECT_GT(value.skip.rest.by_lambda[4], value.skip.rest.by_lambda[0] + 0.1);
}

TEST(SmoothingStats, ConstantTokensAreAlikeAndZeroTokensHaveNoDirection) {
  Layer constant(causal(20));
  constant.input.step = test::random_tensor({1, kModel}, 41).expand({20, kModel}).contiguous();
  constant.input.v = test::random_tensor({1, kGroups, kWidth}, 42).expand({20, kGroups, kWidth});
  constant.input.context =
      test::random_tensor({1, kHeads, kWidth}, 43).expand({20, kHeads, kWidth});
  for (const SmoothingValues& value : constant.measure()) {
    EXPECT_EQ(value.skip.moments.skip, 0);
    EXPECT_EQ(value.skip.moments.update, 0);
    EXPECT_EQ(value.skip.moments.cross, 0);
    for (const double cosine : value.skip.rest.by_lambda) EXPECT_NEAR(cosine, 1, kNoise);
    for (const double cosine : value.skip.predicted) EXPECT_NEAR(cosine, 1, 1e-12);
  }
  Layer zero(causal(20));
  zero.input.step = at::zeros({20, kModel}), zero.input.v = at::zeros({20, kGroups, kWidth});
  zero.input.context = at::zeros({20, kHeads, kWidth});
  for (const SmoothingValues& value : zero.measure()) {
    EXPECT_TRUE(std::isnan(value.skip.rest.by_lambda[2]));
    EXPECT_TRUE(std::isnan(value.alone.all.actual));
    EXPECT_TRUE(std::isnan(value.skip.predicted[2]));
  }
}

TEST(SmoothingStats, ShortInputs) {
  for (const int64_t tokens : {1, 2, 3}) {
    Layer layer(causal(tokens));
    const std::vector<SmoothingValues> values = layer.measure();
    EXPECT_EQ(std::isnan(values[0].skip.all.by_lambda[1]), tokens < 2);
    EXPECT_EQ(std::isnan(values[0].skip.rest.by_lambda[1]), tokens < 3);
    EXPECT_EQ(std::isnan(values[0].skip.predicted[1]), tokens < 3);
    if (tokens == 3) expect_curves(values[3].skip, layer, 3, true);
  }
}

TEST(SmoothingStats, AHeadLeftOutStaysEmpty) {
  Layer layer(causal(10));
  layer.dominant[1] = kHeadLeftOut;
  layer.left_out = {};
  const std::vector<SmoothingValues> values = layer.measure();
  EXPECT_TRUE(values[1].skip.rest.by_lambda.empty());
  expect_curves(values[2].skip, layer, 2, true);
  EXPECT_NEAR(values[2].skip.rest.by_lambda[1], values[2].skip.all.by_lambda[1], kNoise);
}

TEST(OutlierTokens, FiveTimesTheMedianLength) {
  at::Tensor step = at::ones({7, 4});
  step[2] *= 5, step[6] *= -8, step[4] *= 4.99;
  EXPECT_EQ(outlier_tokens(step), (std::vector<int64_t>{2, 6}));
  EXPECT_TRUE(outlier_tokens(at::zeros({7, 4})).empty());
  EXPECT_TRUE(outlier_tokens(at::ones({1, 4})).empty());
}

TEST(MeanUniformity, IdentityIsZeroAndUniformIsOne) {
  const std::vector<theory::SeenKeys> seen = causal(4);
  EXPECT_EQ(mean_uniformity(std::vector<float>{1, 1, 1, 1}, seen), 0);
  EXPECT_NEAR(mean_uniformity(std::vector<float>{1, 0.5f, 1 / 3.0f, 0.25f}, seen), 1, 1e-7);
  EXPECT_NEAR(mean_uniformity(std::vector<float>{1, 0.75f, 1, 1}, seen), 0.5 / 3, 1e-12);
  EXPECT_TRUE(std::isnan(mean_uniformity(std::vector<float>{1}, causal(1))));
}

}  // namespace
}  // namespace sinkscope::stats
