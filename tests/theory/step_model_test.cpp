#include "sinkscope/theory/step_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sinkscope/base/error.h"

namespace sinkscope::theory {
namespace {

/// u = factor x for tokens with unit covariance and the same mean in every channel.
StepModel scaled_identity(int64_t width, double factor, double mean) {
  StepModel model;
  model.width = width;
  const auto d = static_cast<size_t>(width);
  model.map.assign(d * d, 0), model.covariance.assign(d * d, 0), model.mean.assign(d, mean);
  for (size_t c = 0; c < d; ++c) model.map[c * d + c] = factor, model.covariance[c * d + c] = 1;
  return model;
}

std::vector<SeenKeys> causal(int64_t tokens) {
  std::vector<SeenKeys> seen;
  for (int64_t i = 0; i < tokens; ++i) seen.push_back({0, i + 1});
  return seen;
}

const MapKind& kind(std::string_view name) {
  for (const MapKind& kind : map_kinds()) {
    if (kind.name == name) return kind;
  }
  throw std::runtime_error("no such map");
}

// method.md section 9, test values: W = -3 I, beta = 0.5, d = 128, T = 64.
TEST(StepModel, AntiAlignedMapCounteractsMixing) {
  const StepMoments centred = step_moments(scaled_identity(128, -1.5, 0));
  EXPECT_NEAR(smoothing_scalar(centred), -96, 1e-10);
  EXPECT_NEAR(smoothed_cosine(centred, 0, 64), 0, 1e-12);
  EXPECT_NEAR(smoothed_cosine(centred, 1, 64), -0.0119, 5e-5);
  EXPECT_NEAR(smoothed_cosine(centred, 1, causal(64)), 0.0252, 5e-5);
  const StepMoments moved = step_moments(scaled_identity(128, -1.5, 0.75));
  EXPECT_NEAR(smoothed_cosine(moved, 0, 64), 0.36, 1e-12);
  EXPECT_NEAR(smoothed_cosine(moved, 0.5, 64), 0.6967, 5e-5);
  EXPECT_NEAR(smoothed_cosine(moved, 1, 64), 0.1142, 5e-5);
  EXPECT_NEAR(smoothing_peak(moved), 1.0 / 3, 1e-12);
}

// W = [[0, 2], [0, 0]], Sigma = [[3, 1], [1, 5]], mean (1, 2): by hand. W Sigma = [[2, 10], [0,
// 0]].
TEST(StepModel, MomentsOfAMapThatIsNotSymmetric) {
  StepModel model{2, {0, 2, 0, 0}, {3, 1, 1, 5}, {1, 2}};
  StepMoments moments = step_moments(model);
  EXPECT_DOUBLE_EQ(moments.skip, 8);
  EXPECT_DOUBLE_EQ(moments.cross, 2);
  EXPECT_DOUBLE_EQ(moments.update, 20);
  EXPECT_DOUBLE_EQ(moments.mean_sq, 25 + 4);
  model.centred = true;  // off (1, 1) / sqrt(2): traces less a half of the sum of all entries
  moments = step_moments(model);
  EXPECT_DOUBLE_EQ(moments.skip, 8 - 5);
  EXPECT_DOUBLE_EQ(moments.cross, 2 - 6);
  EXPECT_DOUBLE_EQ(moments.update, 20 - 10);
  EXPECT_DOUBLE_EQ(moments.mean_sq, 1.5 * 1.5 * 2);
  model.centred = false, model.skip = false;
  moments = step_moments(model);
  EXPECT_EQ(moments.skip, 0);
  EXPECT_EQ(moments.cross, 0);
  EXPECT_DOUBLE_EQ(moments.mean_sq, 16);
  EXPECT_DOUBLE_EQ(smoothed_cosine(moments, 1, 8), 1);  // no skip: all tokens alike
}

TEST(StepModel, EffectiveRankOfEqualAndOfOneDirection) {
  EXPECT_NEAR(effective_rank(scaled_identity(16, 2, 0)), 16, 1e-12);
  StepModel model = scaled_identity(16, 0, 0);
  for (size_t c = 1; c < 16; ++c) model.map[c * 16 + c] = -1;  // one channel is left
  EXPECT_NEAR(effective_rank(model), 1, 1e-12);
  EXPECT_TRUE(std::isinf(effective_rank(StepModel{1, {0}, {0}, {1}})));
}

TEST(StepModel, RootOfACovarianceAndWhatIsNone) {
  const std::vector<double> covariance = {3, 1, 1, 5};
  const std::vector<double> root = covariance_root(covariance, 2);
  for (size_t i = 0; i < 2; ++i) {
    for (size_t j = 0; j < 2; ++j) {
      EXPECT_NEAR(root[2 * i] * root[2 * j] + root[2 * i + 1] * root[2 * j + 1],
                  covariance[2 * i + j], 1e-14);
    }
  }
  EXPECT_NO_THROW(covariance_root(std::vector<double>{1, 1, 1, 1}, 2));  // of rank 1
  EXPECT_THROW(covariance_root(std::vector<double>{1, 2, 2, 1}, 2), Error);
}

// A causal draw, a full one, one behind a LayerNorm and one without skip: the drawn cosine is the
// predicted one. Spread of 80 draws: 1e-3 at most.
TEST(StepSampler, AgreesWithThePrediction) {
  std::mt19937_64 random(3);
  StepModel model = scaled_identity(128, 0, 0.4);
  model.map = kind("random").make(128, 1, random);
  const double lambdas[] = {0, 0.4, 1};
  for (const bool skip : {true, false}) {
    for (const bool centred : {true, false}) {
      for (const bool is_causal : {true, false}) {
        model.skip = skip, model.centred = centred;
        const StepSampler sampler(model);
        const StepMoments moments = step_moments(model);
        double sums[3] = {};
        for (int draw = 0; draw < 80; ++draw) {
          const std::vector<double> cosines = sampler.cosines(32, is_causal, lambdas, random);
          for (size_t l = 0; l < 3; ++l) sums[l] += cosines[l] / 80;
        }
        for (size_t l = 0; l < 3; ++l) {
          const double predicted = is_causal ? smoothed_cosine(moments, lambdas[l], causal(32))
                                             : smoothed_cosine(moments, lambdas[l], 32);
          EXPECT_NEAR(sums[l], predicted, 0.005) << skip << centred << is_causal << lambdas[l];
        }
      }
    }
  }
}

TEST(StepSampler, TokensWithoutLengthHaveNoCosine) {
  std::mt19937_64 random(3);
  const double lambdas[] = {0, 1};
  const StepSampler sampler(scaled_identity(4, -1, 0));  // r + u = 0 at lambda = 0
  const std::vector<double> cosines = sampler.cosines(8, false, lambdas, random);
  EXPECT_TRUE(std::isnan(cosines[0]));
  EXPECT_TRUE(std::isfinite(cosines[1]));
}

TEST(MapKinds, HaveTheMomentsTheyAreNamedFor) {
  std::mt19937_64 random(1);
  const auto entries = [&](std::string_view name) { return kind(name).make(64, 3, random); };
  const std::vector<double> skew = entries("skew"), symmetric = entries("symmetric"),
                            plain = entries("random"), anti = entries("anti-aligned");
  double square[3] = {}, trace = 0;
  for (size_t i = 0; i < 64; ++i) {
    trace += anti[i * 64 + i];
    for (size_t j = 0; j < 64; ++j) {
      EXPECT_EQ(skew[i * 64 + j], -skew[j * 64 + i]);
      EXPECT_EQ(symmetric[i * 64 + j], symmetric[j * 64 + i]);
      square[0] += plain[i * 64 + j] * plain[i * 64 + j];
      square[1] += symmetric[i * 64 + j] * symmetric[i * 64 + j];
      square[2] += skew[i * 64 + j] * skew[i * 64 + j];
    }
  }
  EXPECT_EQ(trace, -3);
  // ||W||_F^2 is d on average; its spread is sqrt(2), 2 for the symmetric kinds.
  for (const double s : square) EXPECT_NEAR(s, 64, 10);
}

}  // namespace
}  // namespace sinkscope::theory
