#include <gtest/gtest.h>

#include <algorithm>

#include "tests/forward/attention_input.h"

// Exact numbers of cases.md (ATT) and of method.md section 1, for every kernel.
namespace sinkscope::test {
namespace {

using forward::AttentionSums;

class Attention : public testing::TestWithParam<NamedKernel> {
 protected:
  AttentionResult run(const AttentionInput& input) const { return input.run(GetParam().run); }
};
INSTANTIATE_TEST_SUITE_P(Kernels, Attention, testing::ValuesIn(all_kernels()),
                         [](const auto& info) { return info.param.name; });

constexpr float kInfinity = std::numeric_limits<float>::infinity();

double harmonic(int64_t n) {
  double sum = 0;
  for (int64_t i = 1; i <= n; ++i) sum += 1.0 / static_cast<double>(i);
  return sum;
}

/// A head whose query i gives all its attention to key target(i).
template <typename Target>
AttentionInput pointing_head(int64_t tokens, Target target) {
  AttentionInput input(tokens, 1, 1, tokens);
  for (int64_t i = 0; i < tokens; ++i) {
    input.k_at(i, 0)[i] = 1;
    input.v_at(i, 0)[i] = 1;
    input.q_at(i, 0)[target(i)] = 1000;
  }
  return input;
}

bool all_finite(const AttentionResult& result) {
  const auto finite = [](double x) { return std::isfinite(x); };
  bool ok = std::all_of(result.out.begin(), result.out.end(), finite);
  for (const AttentionSums& s : result.sums) {
    ok = ok && std::all_of(s.key_mass.begin(), s.key_mass.end(), finite) &&
         std::all_of(s.key_mass_sq.begin(), s.key_mass_sq.end(), finite) &&
         std::all_of(s.row_entropy.begin(), s.row_entropy.end(), finite) &&
         std::all_of(s.row_square.begin(), s.row_square.end(), finite) &&
         std::all_of(s.row_self.begin(), s.row_self.end(), finite) &&
         std::all_of(s.row_missing.begin(), s.row_missing.end(), finite);
  }
  return ok;
}

TEST_P(Attention, ATT_1_AQueryThatSeesNoKey) {
  for (const bool sink : {false, true}) {
    AttentionInput input = AttentionInput::random(4, 1, 1, 8);
    if (sink) input.sinks = {0.0f};
    const AttentionResult plain = run(input);
    input.document_first = {0, 2, 0, 0};  // query 1 may only see keys from 2 on, and is causal
    const AttentionResult masked = run(input);
    EXPECT_TRUE(all_finite(masked));
    for (int64_t c = 0; c < 8; ++c) {
      EXPECT_EQ(masked.z(1, 8, 1, 0, c), 0);
      for (const int64_t t : {0, 2, 3}) EXPECT_EQ(masked.z(1, 8, t, 0, c), plain.z(1, 8, t, 0, c));
    }
    const AttentionSums& sums = masked.sums[0];
    EXPECT_EQ(sums.row_entropy[1], 0);
    EXPECT_EQ(sums.row_square[1], 0);
    EXPECT_EQ(sums.row_self[1], 0);
    if (sink) {
      EXPECT_EQ(sums.row_missing[1], 0);
    }
    // Its share is taken from the columns and nothing else.
    const double lost = plain.sums[0].key_mass[1] - sums.key_mass[1];
    EXPECT_NEAR(lost, plain.sums[0].row_self[1], 1e-6);
  }
}

TEST_P(Attention, ATT_1_ScoresOfMinusInfinityEverywhere) {
  AttentionInput input = AttentionInput::random(4, 1, 1, 1);
  for (int64_t t = 0; t < 4; ++t) *input.k_at(t, 0) = 1;
  *input.q_at(1, 0) = -kInfinity;
  const AttentionResult result = run(input);
  EXPECT_TRUE(all_finite(result));
  EXPECT_EQ(result.z(1, 1, 1, 0, 0), 0);
  EXPECT_EQ(result.sums[0].row_square[1], 0);
  EXPECT_NE(result.z(1, 1, 2, 0, 0), 0);
}

TEST_P(Attention, ATT_2_GroupedHeads) {
  AttentionInput input(2, 4, 2, 1);
  for (int64_t t = 0; t < 2; ++t) {
    for (int64_t h = 0; h < 4; ++h) *input.q_at(t, h) = 1;
  }
  *input.k_at(1, 0) = *input.k_at(0, 1) = std::log(3.0f);
  const AttentionResult result = run(input);
  for (int64_t h = 0; h < 4; ++h) {
    EXPECT_NEAR(result.sums[h].row_self[1], h < 2 ? 0.75 : 0.25, 1e-6);
    EXPECT_NEAR(result.sums[h].key_mass[0], h < 2 ? 1.25 : 1.75, 1e-6);
  }
}

// One key against a sink logit equal to the expected capped score: half of the row each.
TEST_P(Attention, ATT_5_SoftCappedScores) {
  const std::pair<float, float> cases[] = {{1.0f, 0.99986669f},    {50.0f, 38.07970780f},
                                           {100.0f, 48.20137900f}, {-100.0f, -48.20137900f},
                                           {4400.0f, 50.0f},       {10000.0f, 50.0f}};
  for (const auto& [score, capped] : cases) {
    SCOPED_TRACE(score);
    AttentionInput input(1, 1, 1, 1);
    *input.q_at(0, 0) = 4 * score;
    *input.k_at(0, 0) = 1;
    input.scale = 0.25f;  // the cap acts after the scale
    input.softcap = 50;
    input.sinks = {capped};
    const AttentionResult result = run(input);
    EXPECT_NEAR(result.sums[0].row_self[0], 0.5, 5e-6);
    EXPECT_NEAR(result.sums[0].row_missing[0], 0.5, 5e-6);
  }
}

TEST_P(Attention, ATT_6_SlidingWindow) {
  AttentionInput input(8, 1, 1, 4);
  input.window = 4;
  const AttentionResult windowed = run(input);
  EXPECT_NEAR(windowed.sums[0].key_mass[0] / 4, 25.0 / 48, 1e-7);
  EXPECT_NEAR(windowed.sums[0].key_mass[4] / 4, 0.25, 1e-7);
  EXPECT_NEAR(windowed.sums[0].row_square[7], 0.25, 1e-7);  // four keys, not five
  input.window = 0;
  EXPECT_NEAR(run(input).sums[0].key_mass[0] / 8, harmonic(8) / 8, 1e-7);
}

TEST_P(Attention, ATT_7_LearnedSinkLogit) {
  AttentionInput input(2, 1, 1, 2);
  input.q_at(1, 0)[0] = 1;  // row 1 has logits (1, 0)
  input.k_at(0, 0)[0] = 1;
  input.v_at(0, 0)[0] = input.v_at(1, 0)[1] = 1;  // z is the pattern
  const auto row = [&](float sink) {
    input.sinks = {sink};
    return run(input);
  };
  const AttentionResult zero = row(0);
  EXPECT_NEAR(zero.z(1, 2, 1, 0, 0), 0.57611688, 1e-7);
  EXPECT_NEAR(zero.z(1, 2, 1, 0, 1), 0.21194156, 1e-7);
  EXPECT_NEAR(zero.sums[0].row_missing[1], 0.21194156, 1e-7);
  EXPECT_NEAR(zero.sums[0].key_mass[1], 0.21194156, 1e-7);

  const AttentionResult none = row(-kInfinity);
  EXPECT_NEAR(none.z(1, 2, 1, 0, 0), 0.73105858, 1e-7);
  EXPECT_NEAR(none.z(1, 2, 1, 0, 1), 0.26894142, 1e-7);
  EXPECT_EQ(none.sums[0].row_missing[1], 0);

  const AttentionResult all = row(1000);
  EXPECT_TRUE(all_finite(all));
  EXPECT_EQ(all.z(1, 2, 1, 0, 0), 0);
  EXPECT_EQ(all.z(1, 2, 1, 0, 1), 0);
  EXPECT_EQ(all.sums[0].row_missing[1], 1);
  EXPECT_EQ(all.sums[0].row_entropy[1], 0);
}

TEST_P(Attention, UniformHeadIsHarmonic) {
  for (const int64_t tokens : {16, 64, 1024, 4096}) {
    const AttentionResult result = run(AttentionInput(tokens, 1, 1, 4));
    const double n = static_cast<double>(tokens);
    EXPECT_NEAR(result.sums[0].key_mass[0] / n, harmonic(tokens) / n, 1e-7);
    EXPECT_NEAR(result.sums[0].row_entropy[tokens - 1], std::log(n), 2e-6);
    EXPECT_EQ(result.sums[0].key_events[0], 2);  // rows 0 and 1: at least, not more than, one half
  }
}

TEST_P(Attention, DiagonalAndPreviousTokenHeads) {
  const AttentionResult diagonal = run(pointing_head(64, [](int64_t i) { return i; }));
  EXPECT_EQ(diagonal.sums[0].key_mass[61] / 3, 1.0 / 3);
  EXPECT_EQ(diagonal.sums[0].key_mass[63], 1.0);
  EXPECT_EQ(diagonal.sums[0].row_self[63], 1.0f);
  EXPECT_EQ(diagonal.sums[0].row_entropy[63], 0.0f);

  const auto before = [](int64_t i) { return std::max<int64_t>(i - 1, 0); };
  const AttentionResult previous = run(pointing_head(64, before));
  EXPECT_EQ(previous.sums[0].key_mass[0] / 64, 2.0 / 64);
  EXPECT_EQ(previous.sums[0].key_mass[62] / 2, 0.5);
  EXPECT_EQ(previous.sums[0].key_mass[63], 0.0);
  EXPECT_EQ(previous.z(1, 64, 63, 0, 62), 1.0f);
  EXPECT_EQ(previous.z(1, 64, 63, 0, 63), 0.0f);
}

TEST_P(Attention, SinkHeadAndConditionalSink) {
  AttentionInput sink(64, 1, 1, 2);
  for (int64_t i = 0; i < 64; ++i) {
    sink.k_at(i, 0)[i == 0 ? 0 : 1] = 1;
    sink.q_at(i, 0)[0] = std::log(0.95f);
    sink.q_at(i, 0)[1] = i == 0 ? 0 : std::log(0.05f / static_cast<float>(i));
  }
  const AttentionResult loud = run(sink);
  EXPECT_NEAR(loud.sums[0].key_mass[0] / 64, 0.95078125, 1e-6);
  EXPECT_EQ(loud.sums[0].key_events[0], 64);

  AttentionInput half(64, 1, 1, 1);
  *half.k_at(0, 0) = 1;
  for (int64_t i = 0; i < 64; i += 2) *half.q_at(i, 0) = 1000;
  const AttentionResult conditional = run(half);
  EXPECT_NEAR(conditional.sums[0].key_mass[0] / 64, 0.5317070, 1e-7);
  EXPECT_EQ(conditional.sums[0].key_events[0], 33);
}

TEST_P(Attention, WindowsOfSixteen) {
  AttentionInput uniform(64, 1, 1, 1);
  uniform.window = 16;
  EXPECT_NEAR(run(uniform).sums[0].key_mass[0] / 16, 0.2112956, 1e-7);

  AttentionInput sink(64, 1, 1, 1);
  sink.window = 16;
  *sink.k_at(0, 0) = 1;
  for (int64_t i = 0; i < 16; ++i) *sink.q_at(i, 0) = 1000;
  EXPECT_EQ(run(sink).sums[0].key_mass[0] / 16, 1.0);
}

TEST_P(Attention, SinkLogitsOfTwoEqualKeys) {
  AttentionInput input(2, 2, 1, 1);
  input.sinks = {std::log(2.0f), 0.0f};
  const AttentionResult result = run(input);
  EXPECT_NEAR(result.sums[0].row_self[1], 0.25, 1e-7);
  EXPECT_NEAR(result.sums[0].row_missing[1], 0.5, 1e-7);
  EXPECT_NEAR(result.sums[1].row_self[1], 1.0 / 3, 1e-7);
  EXPECT_NEAR(result.sums[1].row_missing[1], 1.0 / 3, 1e-7);
  EXPECT_NEAR(result.sums[1].row_entropy[1], 2.0 / 3 * std::log(3.0), 1e-6);
}

TEST_P(Attention, LogitsOfTenThousandStayFinite) {
  AttentionInput input = AttentionInput::random(130, 2, 1, 16);
  input.scale = 1000;
  const AttentionResult result = run(input);
  EXPECT_TRUE(all_finite(result));
  double mass = 0;
  for (const double m : result.sums[0].key_mass) mass += m;
  EXPECT_NEAR(mass, 130, 1e-4);
}

TEST_P(Attention, HiddenKeysGetExactlyNothing) {
  AttentionInput input = AttentionInput::random(70, 1, 1, 8);
  for (int64_t c = 0; c < 8; ++c) input.v_at(69, 0)[c] = 1e30f;  // only the last query sees it
  const AttentionResult result = run(input);
  for (int64_t t = 0; t < 69; ++t) EXPECT_LT(std::abs(result.z(1, 8, t, 0, 0)), 10);
  EXPECT_FLOAT_EQ(static_cast<float>(result.sums[0].key_mass[69]), result.sums[0].row_self[69]);
}

}  // namespace
}  // namespace sinkscope::test
