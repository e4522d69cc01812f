#include "sinkscope/theory/geometry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "sinkscope/base/error.h"
#include "sinkscope/theory/cholesky.h"
#include "sinkscope/theory/clouds.h"
#include "sinkscope/theory/cost_program.h"
#include "sinkscope/theory/value_output.h"

namespace sinkscope::theory {
namespace {

TEST(SinkCertificate, OrthonormalTokensLeadByTheirMargins) {
  std::mt19937_64 random(0);
  const Cloud tokens = make_cloud(cloud_kinds()[0], {.tokens = 8}, random);
  const SinkCertificate certificate = sink_certificate(tokens);
  ASSERT_TRUE(certificate.representable());
  EXPECT_NEAR(certificate.queries.margin, 1 / std::sqrt(8.0), 1e-12);
  EXPECT_NEAR(certificate.leads.margin, std::sqrt(1 + 1.0 / 8), 1e-12);
  EXPECT_NEAR(certificate.checked, 1, 1e-12);
  EXPECT_NEAR(std::sqrt(dot(certificate.u, certificate.u) * dot(certificate.v, certificate.v)),
              8 / 3.0, 1e-12);
}

TEST(SinkCertificate, CosineZeroIsNotEnough) {
  const Cloud tokens{{0, 1, 1, 0, -1, 0}, 2};
  const SinkCertificate certificate = sink_certificate(tokens);
  EXPECT_FALSE(certificate.representable());
  EXPECT_EQ(certificate.queries.verdict, HullVerdict::kWithin);
  EXPECT_EQ(certificate.leads.verdict, HullVerdict::kApart);
  EXPECT_TRUE(std::isnan(certificate.checked));
  EXPECT_EQ(sink_cosine(tokens).largest, 0);
}

TEST(SinkCertificate, ADuplicateOfTheSinkForbidsIt) {
  const Cloud tokens{{1, 0, 0, 1, 1, 0}, 2};
  EXPECT_EQ(sink_certificate(tokens).leads.verdict, HullVerdict::kWithin);
  EXPECT_EQ(sink_cosine(tokens).duplicates, 1);
}

TEST(SinkCertificate, EveryCheckedMarginHoldsAndSoDoesTheoremA) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  int representable = 0;
  for (int trial = 0; trial < 200; ++trial) {
    Cloud tokens{std::vector<double>(7 * 3), 3};
    for (double& entry : tokens.entries) entry = normal(random);
    const SinkCertificate certificate = sink_certificate(tokens);
    const bool pairs = pair_hull(tokens, sink_pattern(6, true)).verdict == HullVerdict::kApart;
    ASSERT_EQ(certificate.representable(), pairs) << trial;
    if (!pairs) continue;
    ++representable;
    // The pair that leads least may be one that the causal mask hides.
    EXPECT_GE(certificate.checked, 1 - 1e-9);
  }
  EXPECT_GT(representable, 5);
}

TEST(SinkCertificate, WantsTwoTokens) {
  const Cloud one{{1, 0}, 2};
  EXPECT_THROW(sink_certificate(one), Error);
}

TEST(Wendel, ValuesOfTheTable) {
  EXPECT_NEAR(wendel_probability(4, 6), 0.8125, 1e-12);
  EXPECT_NEAR(wendel_probability(4, 8), 0.5, 1e-12);
  EXPECT_NEAR(wendel_probability(4, 12), 0.1132813, 5e-8);
  EXPECT_NEAR(wendel_probability(8, 16), 0.5, 1e-12);
  EXPECT_EQ(wendel_probability(5, 5), 1);
  EXPECT_NEAR(wendel_probability(1000, 2000), 0.5, 1e-9);
}

TEST(MarginNeeded, ValuesOfTheTable) {
  EXPECT_NEAR(margin_needed(63, 0.1), 6.3404, 5e-5);
  EXPECT_NEAR(margin_needed(63, 0.3), 4.9904, 5e-5);
  EXPECT_NEAR(margin_needed(63, 0.5), 4.1431, 5e-5);
  EXPECT_NEAR(margin_needed(1023, 0.3), 7.7778, 5e-5);
}

TEST(Clouds, InnerProductsOfEveryKind) {
  std::mt19937_64 random(5);
  for (const CloudKind& kind : cloud_kinds()) {
    SCOPED_TRACE(kind.name);
    const CloudRequest request{
        .tokens = 6, .width = 12, .cosine = 0.5, .sink_cosine = -0.3, .sine = 0.2, .rank = 3};
    const Cloud cloud = make_cloud(kind, request, random);
    ASSERT_EQ(cloud.count(), 7);
    ASSERT_EQ(cloud.width, 12);
    for (int64_t i = 0; i < 7; ++i) {
      EXPECT_NEAR(dot(cloud.token(i), cloud.token(i)), 1, 1e-12);
      for (int64_t j = 1; j < i; ++j) {
        const double product = dot(cloud.token(i), cloud.token(j));
        if (kind.name == "orthonormal") {
          EXPECT_EQ(product, 0);
        } else if (kind.name == "simplex") {
          EXPECT_NEAR(product, -1.0 / 6, 1e-12);
        } else if (kind.name == "cone") {
          EXPECT_NEAR(product, 0.25, 1e-12);
        } else if (kind.name == "cross-polytope") {
          EXPECT_NEAR(product, (i - 1) / 2 == (j - 1) / 2 ? 0.04 - 0.96 : 0.04, 1e-12);
        } else if (kind.name == "random-cone") {
          EXPECT_NEAR(cloud.token(i)[0], 0.5, 1e-12);
        } else if (kind.name == "low-rank") {
          EXPECT_EQ(cloud.token(i)[3], 0);
        }
      }
    }
  }
}

TEST(Clouds, WhatDoesNotFitIsRefused) {
  std::mt19937_64 random(5);
  const CloudKind& orthonormal = cloud_kinds()[0];
  EXPECT_THROW(make_cloud(orthonormal, {.tokens = 0}, random), Error);
  EXPECT_THROW(make_cloud(orthonormal, {.tokens = 8, .width = 8}, random), Error);
  EXPECT_THROW(make_cloud(cloud_kinds().back(), {.tokens = 7}, random), Error);
  EXPECT_THROW(make_cloud(cloud_kinds()[2], {.tokens = 7, .cosine = 1.5}, random), Error);
}

TEST(ValueOutput, ASingleTokenPaysForItsCosineWithTheSink) {
  // cos(z_0, z_1) = 0.6: W_VO z_1 = z_1 costs 1, with W_VO z_0 = 0 besides 1 / sqrt(1 - 0.36).
  const Cloud tokens{{1, 0, 0.6, 0.8, 0, 1}, 2};
  const std::vector<int64_t> source = {-1, -1, 1};
  EXPECT_NEAR(value_output_cost(tokens, source, false), 1, 1e-12);
  EXPECT_NEAR(value_output_cost(tokens, source, true), 1.25, 1e-12);
  EXPECT_EQ(value_output_cost(tokens, {-1, -1, -1}, true), 0);
}

TEST(ValueOutput, ASourceAlongTheSinkCannotBeCopiedByAHardSwitch) {
  const Cloud tokens{{1, 0, 2, 0, 0, 1}, 2};
  EXPECT_TRUE(std::isinf(value_output_cost(tokens, {-1, -1, 1}, true)));
  EXPECT_NEAR(value_output_cost(tokens, {-1, -1, 1}, false), 1, 1e-12);
}

TEST(ValueOutput, OrthonormalSourcesCostOneEach) {
  std::mt19937_64 random(0);
  const Cloud tokens = make_cloud(cloud_kinds()[0], {.tokens = 8}, random);
  EXPECT_NEAR(value_output_cost(tokens, backcopy_sources(8, 2, 1), true), 4, 1e-12);
}

TEST(Patterns, PairsAndSources) {
  EXPECT_EQ(sink_pattern(8, true).pairs(), 36);
  EXPECT_EQ(sink_pattern(8, false).pairs(), 64);
  EXPECT_EQ(diagonal_pattern(8, false).pairs(), 64);
  EXPECT_EQ(backcopy_sources(8, 4, 1), (std::vector<int64_t>{-1, -1, -1, -1, 3, -1, -1, -1, 7}));
  const std::vector<int64_t> source = copy_paste_sources(8, 2, 1);
  for (int64_t i = 2; i <= 8; i += 2) {
    EXPECT_GE(source[static_cast<size_t>(i)], 1);
    EXPECT_LT(source[static_cast<size_t>(i)], i);
  }
  EXPECT_EQ(mixed_sink_pattern(source, true).winner[3], 0);
  EXPECT_EQ(mixed_diagonal_pattern(source, true).winner[3], 3);
}

}  // namespace
}  // namespace sinkscope::theory
