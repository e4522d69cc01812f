#include "sinkscope/theory/attention_switch.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sinkscope/theory/geometry.h"
#include "tests/theory/random_points.h"

namespace sinkscope::theory {
namespace {

// method.md section 7: kappa needed for attention 1 - epsilon.
TEST(AttentionFromMargin, IsAttainedBySoftmax) {
  EXPECT_NEAR(attention_from_margin(6.3404, 63), 0.9, 5e-6);
  EXPECT_NEAR(attention_from_margin(4.9904, 63), 0.7, 1e-5);
  EXPECT_NEAR(attention_from_margin(4.1431, 63), 0.5, 1.5e-5);
  EXPECT_NEAR(attention_from_margin(7.7778, 1023), 0.7, 1e-5);
  std::vector<double> logits(8, -3.0);
  logits[0] = -1;
  EXPECT_NEAR(softmax(logits)[0], attention_from_margin(2, 7), 1e-15);
  logits[3] -= 1;  // a key that trails by more
  EXPECT_GT(softmax(logits)[0], attention_from_margin(2, 7) + 1e-3);
}

TEST(Softmax, TakesLargeLogits) {
  const std::vector<double> logits = {1000, 1000 - std::log(3.0), -1000};
  const std::vector<double> shares = softmax(logits);
  EXPECT_NEAR(shares[0], 0.75, 1e-12);
  EXPECT_NEAR(shares[1], 0.25, 1e-12);
  EXPECT_EQ(shares[2], 0);
}

// v_s = 0 and (0.8, 0.6), (0.8, -0.6): gV = 0.8, attained by equal weights.
TEST(SwitchPremises, OfTwoValuesOnOneSide) {
  const std::vector<double> values = {0, 0, 0.8, 0.6, 0.8, -0.6};
  const SwitchPremises premises = switch_premises({values, 2});
  EXPECT_NEAR(premises.half_space, 0.8, 1e-12);
  EXPECT_EQ(premises.sink_along, 0);
  EXPECT_NEAR(premises.independent, 0.6 * std::sqrt(2.0), 1e-12);  // V V^T = [[1, .28], [.28, 1]]
  EXPECT_EQ(premises.all_apart, 0);                                // v_s = 0 is in the hull
  const std::vector<double> attention = {0.95, 0.025, 0.025};
  const SwitchOutput output = switch_output({values, 2}, attention);
  EXPECT_NEAR(output.norm, 0.04, 1e-15);
  EXPECT_NEAR(output.off, 0.04, 1e-15);
  EXPECT_NEAR(output.uncancelled, 0.05, 1e-15);
  const SwitchBounds bounds = switch_bounds(premises, 2, output);
  EXPECT_NEAR(bounds.half_space, 0.04, 1e-12);
  EXPECT_NEAR(bounds.independent, 0.6 * 0.05, 1e-12);
  EXPECT_TRUE(std::isnan(bounds.all_apart));
  EXPECT_NEAR(bounds.upper, 0.05, 1e-15);
}

TEST(SwitchPremises, BreakWhereTheExcludedAlternativesLive) {
  // A mixture that cancels: no half-space, dependent.
  SwitchPremises premises = switch_premises({std::vector<double>{0, 0, 1, 0, -1, 0}, 2});
  EXPECT_EQ(premises.half_space, 0);
  EXPECT_EQ(premises.independent, 0);
  EXPECT_TRUE(std::isnan(switch_bounds(premises, 2, {}).half_space));
  // A zero value lies in the hull.
  EXPECT_EQ(switch_premises({std::vector<double>{0, 0, 1, 0, 0, 0}, 2}).half_space, 0);
  // The sink's value opposes the others: gV > 0, and yet A = (0.5, 0.5) gives 0.
  premises = switch_premises({std::vector<double>{-1, 0, 1, 0}, 2});
  EXPECT_NEAR(premises.half_space, 1, 1e-12);
  EXPECT_NEAR(premises.sink_along, -1, 1e-12);
  EXPECT_TRUE(std::isnan(switch_bounds(premises, 1, {}).half_space));
  // A sink with a value: independence alone says nothing.
  premises = switch_premises({std::vector<double>{0, 1, 1, 0}, 2});
  EXPECT_TRUE(std::isnan(switch_bounds(premises, 1, {}).independent));
  EXPECT_NEAR(premises.all_apart, std::sqrt(0.5), 1e-12);
}

TEST(SwitchPremises, MoreValuesThanChannelsAreDependent) {
  std::mt19937_64 random(4);
  EXPECT_EQ(switch_premises(test::random_points(6, 4, random)).independent, 0);
  EXPECT_GT(switch_premises(test::random_points(5, 4, random)).independent, 0);
}

TEST(SwitchOutput, OfZeroValuesHasNoScale) {
  const SwitchOutput output =
      switch_output({std::vector<double>{1, 0, 0, 0}, 2}, std::vector<double>{0.5, 0.5});
  EXPECT_EQ(output.norm, 0.5);
  EXPECT_TRUE(std::isnan(output.off));
}

// 1 - A_0 has no digits left here, the sum of the others has.
TEST(SwitchOutput, OfASharpSinkKeepsTheRest) {
  const std::vector<double> values = {0, 0, 0.8, 0.6, 0.8, -0.6};
  const SwitchOutput output = switch_output({values, 2}, std::vector<double>{1, 1e-18, 1e-18});
  EXPECT_NEAR(output.rest / 2e-18, 1, 1e-12);
  const SwitchBounds bounds = switch_bounds(switch_premises({values, 2}), 2, output);
  EXPECT_NEAR(bounds.half_space / output.norm, 1, 1e-9);
}

// The shortest mixture attains the half-space bound on any values.
TEST(SwitchBounds, AreAttainedByTheShortestMixture) {
  std::mt19937_64 random(9);
  for (int i = 0; i < 50; ++i) {
    test::Points values = test::random_points(6, 5, random, 0.8);
    for (int c = 0; c < 5; ++c) values.entries[static_cast<size_t>(c)] = 0;
    const SwitchPremises premises = switch_premises(values);
    if (premises.half_space == 0) continue;
    std::vector<double> attention = {0.9};
    for (const double weight : premises.shortest) attention.push_back(0.1 * weight);
    const SwitchOutput output = switch_output(values, attention);
    EXPECT_NEAR(switch_bounds(premises, 5, output).half_space / output.norm, 1, 1e-6);
  }
}

}  // namespace
}  // namespace sinkscope::theory
