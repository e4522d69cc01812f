#include "sinkscope/theory/smoothing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace sinkscope::theory {
namespace {

std::vector<SeenKeys> causal(int64_t tokens, int64_t window = 0) {
  std::vector<SeenKeys> seen;
  for (int64_t i = 0; i < tokens; ++i) {
    seen.push_back({window > 0 ? std::max<int64_t>(0, i - window + 1) : 0, i + 1});
  }
  return seen;
}

std::vector<SeenKeys> all_keys(int64_t tokens) {
  return std::vector<SeenKeys>(static_cast<size_t>(tokens), SeenKeys{0, tokens});
}

/// Both sides see `reach` keys, in documents of `document` tokens.
std::vector<SeenKeys> band(int64_t tokens, int64_t reach, int64_t document) {
  std::vector<SeenKeys> seen;
  for (int64_t i = 0; i < tokens; ++i) {
    const int64_t begin = i / document * document, end = std::min(tokens, begin + document);
    seen.push_back({std::max(begin, i - reach), std::min(end, i + reach + 1)});
  }
  return seen;
}

struct TestValue {
  StepMoments moments;
  int64_t tokens;
  double full[3], causal[3];  // lambda = 0, 0.5, 1
};

// method.md section 9, test values.
constexpr TestValue kTestValues[] = {
    {{1, 0, 0.25, 1}, 8, {0.444444, 0.490637, 0.507692}, {0.444444, 0.481561, 0.502494}},
    {{1, -0.5, 0.25, 1}, 8, {0.8, 0.630769, 0.475410}, {0.8, 0.672090, 0.551886}},
    {{1, -0.75, 2.25, 1}, 64, {0.363636, 0.555318, 0.502913}, {0.363636, 0.544450, 0.508487}},
    {{2, 0.3, 0.5, 0}, 16, {0, 0.017099, 0.033233}, {0, 0.016204, 0.037089}},
};

TEST(Smoothing, TestValues) {
  for (const TestValue& value : kTestValues) {
    for (const size_t l : {0, 1, 2}) {
      const double lambda = 0.5 * static_cast<double>(l);
      EXPECT_NEAR(smoothed_cosine(value.moments, lambda, value.tokens), value.full[l], 1e-6);
      EXPECT_NEAR(smoothed_cosine(value.moments, lambda, causal(value.tokens)), value.causal[l],
                  1e-6);
    }
  }
  EXPECT_EQ(smoothing_scalar(kTestValues[1].moments), -0.75);
  EXPECT_NEAR(smoothing_peak(kTestValues[2].moments), 2.0 / 3, 1e-12);
}

// W = -3 I, beta = 0.5: r = x, u = -1.5 x.
TEST(Smoothing, AMapThatOpposesTheTokensCounteractsFullButNotCausalMixing) {
  const StepMoments moments{128, -1.5 * 128, 2.25 * 128, 0};
  EXPECT_LT(smoothing_scalar(moments), 0);
  EXPECT_EQ(smoothed_cosine(moments, 0, 64), 0);
  EXPECT_NEAR(smoothed_cosine(moments, 1, 64), -0.0119, 5e-5);
  EXPECT_NEAR(smoothed_cosine(moments, 1, causal(64)), 0.0252, 5e-5);
  EXPECT_NEAR(smoothing_peak(moments), 1.0 / 3, 1e-12);
}

/// The pairs one by one, common keys counted.
double by_pairs(const StepMoments& m, double lambda, const std::vector<SeenKeys>& seen,
                int64_t left_out) {
  const double own = m.skip + 2 * (1 - lambda) * m.cross + (1 - lambda) * (1 - lambda) * m.update;
  const double direct = lambda * (m.cross + (1 - lambda) * m.update);
  const double shared = lambda * lambda * m.update;
  const auto keys = [&](size_t i) { return static_cast<double>(seen[i].last - seen[i].first); };
  const auto sees = [&](size_t i, size_t k) {
    const auto key = static_cast<int64_t>(k);
    return seen[i].first <= key && key < seen[i].last;
  };
  double sum = 0, pairs = 0;
  for (size_t i = 0; i < seen.size(); ++i) {
    for (size_t k = i + 1; k < seen.size(); ++k) {
      if (static_cast<int64_t>(i) == left_out || static_cast<int64_t>(k) == left_out) continue;
      double common = 0;
      for (size_t j = 0; j < seen.size(); ++j) common += sees(i, j) && sees(k, j);
      const double inner = m.mean_sq + (sees(k, i) ? direct / keys(k) : 0) +
                           (sees(i, k) ? direct / keys(i) : 0) +
                           shared * common / (keys(i) * keys(k));
      const auto length = [&](size_t t) {
        return std::sqrt(m.mean_sq + own + (2 * direct + shared) / keys(t));
      };
      sum += inner / (length(i) * length(k));
      pairs += 1;
    }
  }
  return sum / pairs;
}

TEST(Smoothing, AnyVisibilityEqualsTheSumOverPairs) {
  const StepMoments moments{1.3, -0.4, 0.9, 0.2};
  const std::vector<std::vector<SeenKeys>> all = {causal(23),     causal(23, 5),   all_keys(23),
                                                  band(23, 3, 9), band(23, 40, 7), band(23, 0, 23)};
  for (const std::vector<SeenKeys>& seen : all) {
    for (const double lambda : {0.0, 0.3, 1.0}) {
      for (const int64_t left_out : {-1, 0, 11}) {
        std::vector<SeenKeys> queries = seen;
        if (left_out >= 0) queries[static_cast<size_t>(left_out)] = {0, 0};
        EXPECT_NEAR(smoothed_cosine(moments, lambda, queries),
                    by_pairs(moments, lambda, seen, left_out), 1e-13);
      }
    }
  }
  EXPECT_NEAR(smoothed_cosine(moments, 0.7, all_keys(23)), smoothed_cosine(moments, 0.7, 23),
              1e-13);
}

TEST(Smoothing, LongInputsTakeNoPairs) {
  const StepMoments moments{1, -0.2, 0.5, 0.1};
  // 3e8 pairs; for long inputs the causal curve approaches N0 / (N0 + D).
  EXPECT_NEAR(smoothed_cosine(moments, 1, causal(25000)), 0.1 / 1.1, 2e-4);
}

TEST(Smoothing, EdgesHaveNoDataOrOne) {
  EXPECT_TRUE(std::isnan(smoothed_cosine({1, 0, 1, 1}, 0.5, 1)));
  EXPECT_TRUE(std::isnan(smoothed_cosine({1, 0, 1, 1}, 0.5, causal(1))));
  EXPECT_TRUE(std::isnan(smoothed_cosine({0, 0, 0, 0}, 0.5, 8)));
  EXPECT_TRUE(std::isnan(smoothed_cosine({0, 0, 0, 0}, 0.5, causal(8))));
  EXPECT_TRUE(std::isnan(smoothing_peak({1, 0, 0, 1})));
  // Constant tokens.
  EXPECT_DOUBLE_EQ(smoothed_cosine({0, 0, 0, 4}, 0.5, 8), 1);
  EXPECT_DOUBLE_EQ(smoothed_cosine({0, 0, 0, 4}, 0.5, causal(8)), 1);
  // A query without keys is in no pair.
  std::vector<SeenKeys> seen = causal(2);
  seen[0] = {0, 0};
  EXPECT_TRUE(std::isnan(smoothed_cosine({1, 0, 1, 1}, 0.5, seen)));
}

// Consequence 1 of section 9, on random moments of real vectors: C^2 <= R E.
TEST(Smoothing, TheSignOfSDecidesUnderFullAttention) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> unit(0, 1);
  int smoothing = 0, counteracted = 0;
  for (int i = 0; i < 20000; ++i) {
    StepMoments moments{4 * unit(random), 0, 4 * unit(random), 3 * unit(random)};
    moments.cross = (2 * unit(random) - 1) * std::sqrt(moments.skip * moments.update);
    const auto tokens = static_cast<int64_t>(2 + 200 * unit(random));
    const double change = smoothed_cosine(moments, 1, tokens) - smoothed_cosine(moments, 0, tokens);
    EXPECT_EQ(change > 0, smoothing_scalar(moments) > 0);
    (change > 0 ? smoothing : counteracted) += 1;
    const double peak = smoothing_peak(moments), at_peak = smoothed_cosine(moments, peak, tokens);
    for (const double lambda : {0.0, peak / 2, (1 + peak) / 2, 1.0}) {
      EXPECT_LE(smoothed_cosine(moments, lambda, tokens), at_peak + 1e-12);
    }
  }
  EXPECT_GT(smoothing, 1000);
  EXPECT_GT(counteracted, 1000);
}

// ------------------------------------------------------------------------------- Monte Carlo

constexpr size_t kWidth = 128, kTokens = 64;
using Rows = std::vector<double>;  // [kTokens, kWidth]

/// y = r + (1 - lambda) u + lambda mean over the seen keys, and the mean cosine of its pairs.
double measured_cosine(const Rows& r, const Rows& u, double lambda, bool is_causal) {
  Rows sum(kWidth, 0), total(kWidth, 0), y(kWidth);
  for (size_t i = 0; i < kTokens && !is_causal; ++i) {
    for (size_t c = 0; c < kWidth; ++c) sum[c] += u[i * kWidth + c];
  }
  for (size_t i = 0; i < kTokens; ++i) {
    double length_sq = 0;
    for (size_t c = 0; c < kWidth; ++c) {
      const size_t at = i * kWidth + c;
      if (is_causal) sum[c] += u[at];
      const double keys = static_cast<double>(is_causal ? i + 1 : kTokens);
      y[c] = r[at] + (1 - lambda) * u[at] + lambda * sum[c] / keys;
      length_sq += y[c] * y[c];
    }
    for (size_t c = 0; c < kWidth; ++c) total[c] += y[c] / std::sqrt(length_sq);
  }
  double length_sq = 0;
  for (const double t : total) length_sq += t * t;
  const double n = kTokens;
  return (length_sq - n) / (n * (n - 1));
}

struct Setting {
  double scale;   // u = scale x, or
  double random;  // u = random W x with W of independent N(0, 1/d) entries
  double mean;    // per channel, of x
  bool causal;
};

TEST(Smoothing, MonteCarlo) {
  const Setting settings[] = {{0.5, 0, 0.7, true},   {0.5, 0, 0.7, false}, {-1.5, 0, 0, false},
                              {-1.5, 0, 0.75, true}, {0, 0.8, 0.3, true},  {0, 0.8, 0, false}};
  constexpr int kDraws = 60;
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  Rows map(kWidth * kWidth);
  for (double& w : map) w = normal(random) / std::sqrt(static_cast<double>(kWidth));
  for (const Setting& setting : settings) {
    const auto values_of = [&](const double* x, double* u) {
      for (size_t c = 0; c < kWidth; ++c) {
        u[c] = setting.scale * x[c];
        for (size_t e = 0; setting.random != 0 && e < kWidth; ++e) {
          u[c] += setting.random * map[c * kWidth + e] * x[e];
        }
      }
    };
    const double d = kWidth, s = setting.scale;
    double trace = 0, square = 0, mean_sq = 0;
    Rows mean(kWidth, setting.mean), mean_u(kWidth);
    values_of(mean.data(), mean_u.data());
    for (size_t c = 0; c < kWidth; ++c) {
      mean_sq += (mean[c] + mean_u[c]) * (mean[c] + mean_u[c]);
      trace += map[c * kWidth + c];
      for (size_t e = 0; e < kWidth; ++e) square += map[c * kWidth + e] * map[c * kWidth + e];
    }
    const StepMoments moments{d, s * d + setting.random * trace,
                              s * s * d + setting.random * setting.random * square, mean_sq};
    std::vector<double> sums(5, 0);
    Rows x(kTokens * kWidth), u(kTokens * kWidth);
    for (int draw = 0; draw < kDraws; ++draw) {
      for (double& entry : x) entry = setting.mean + normal(random);
      for (size_t i = 0; i < kTokens; ++i) values_of(&x[i * kWidth], &u[i * kWidth]);
      for (size_t l = 0; l < 5; ++l) {
        sums[l] += measured_cosine(x, u, 0.25 * static_cast<double>(l), setting.causal) / kDraws;
      }
    }
    for (size_t l = 0; l < 5; ++l) {
      const double lambda = 0.25 * static_cast<double>(l);
      const double predicted = setting.causal ? smoothed_cosine(moments, lambda, causal(kTokens))
                                              : smoothed_cosine(moments, lambda, kTokens);
      // With twice the draws the worst of 80 such comparisons is 0.0036 (section 9).
      EXPECT_NEAR(sums[l], predicted, 0.005)
          << setting.scale << " " << setting.mean << " " << lambda;
    }
  }
}

}  // namespace
}  // namespace sinkscope::theory
