#include "sinkscope/diagnostics/sink.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/diagnostics/planted.h"

namespace sinkscope::diagnostics {
namespace {

using test::attention_of;
using test::measure;

double harmonic(int64_t n) {
  double sum = 0;
  for (int64_t k = 1; k <= n; ++k) sum += 1.0 / static_cast<double>(k);
  return sum;
}

TEST(Sink, UniformHeadHasLiftOneAndIsNoSink) {
  const auto head = measure(attention_of({PlantedRows::kUniform, 64}));
  EXPECT_NEAR(head.value("alpha"), 0.0741233, 5e-8);
  EXPECT_EQ(head.value("sink_index"), 0);
  EXPECT_NEAR(head.value("lift"), 1, 1e-12);
  EXPECT_EQ(head.value("sink"), 0);
  EXPECT_EQ(head.value("event"), 0);
  EXPECT_EQ(head.value("too_short"), 0);
  EXPECT_NEAR(head.value("entropy_norm"), 1, 1e-12);
}

TEST(Sink, TheLastKeysOfADiagonalHeadAreNotJudged) {
  const auto attention = attention_of({PlantedRows::kDiagonal, 64});
  EXPECT_NEAR(test::alpha(attention, 61), 1.0 / 3, 1e-12);
  EXPECT_NEAR(test::alpha(attention, 62), 0.5, 1e-12);
  EXPECT_EQ(test::alpha(attention, 63), 1);
  const auto head = measure(attention);
  EXPECT_EQ(head.value("sink_index"), 48);  // alpha 1/16: the last key that 16 queries see
  EXPECT_EQ(head.value("alpha_sink"), 1.0 / 16);
  EXPECT_EQ(head.value("sink_count"), 0);
  EXPECT_EQ(head.value("self_mass"), 1);
  EXPECT_EQ(head.value("square_mass"), 1);
  EXPECT_EQ(head.value("entropy"), 0);
  EXPECT_EQ(head.value("effective_keys"), 1);
}

TEST(Sink, ALoudFirstKeyIsASinkAndAnEvent) {
  const auto head = measure(attention_of({PlantedRows::kSinkEven, 64, 0.95}));
  EXPECT_NEAR(head.value("alpha_sink"), 0.95078125, 1e-12);
  EXPECT_EQ(head.value("routed"), 1);
  EXPECT_EQ(head.value("sink"), 1);
  EXPECT_EQ(head.value("event"), 1);
  EXPECT_EQ(head.value("conditional"), 0);
  EXPECT_EQ(head.value("plain_rate", 0), 1);
  EXPECT_EQ(head.value("plain_rate", 1), 0);
}

TEST(Sink, NearMissHalfOfTheQueriesIsAConditionalSinkNotAnEvent) {
  const auto head = measure(attention_of({PlantedRows::kHalfSink, 64}));
  EXPECT_NEAR(head.value("alpha_sink"), 0.5317070, 5e-8);
  EXPECT_EQ(head.value("routed"), 33.0 / 64);
  EXPECT_EQ(head.value("sink"), 1);
  EXPECT_EQ(head.value("event"), 0);
  EXPECT_EQ(head.value("conditional"), 1);
}

TEST(Sink, AWindowDividesByTheQueriesThatSeeTheKey) {
  EXPECT_NEAR(measure(attention_of({PlantedRows::kUniform, 64, 1, true, 16})).value("alpha"),
              0.2112956, 5e-8);
  const auto head = measure(attention_of({PlantedRows::kSinkEven, 64, 1, true, 16}));
  EXPECT_EQ(head.value("alpha"), 1);
  EXPECT_EQ(head.value("sink"), 1);
}

TEST(Sink, SixHeadsAtEveryLengthAndEpsilon) {
  struct Row {
    PlantedRows rows;
    bool sink, event;
  };
  const Row table[] = {
      {PlantedRows::kUniform, false, false},  {PlantedRows::kDiagonal, false, false},
      {PlantedRows::kPrevious, false, false}, {PlantedRows::kLocal4, false, false},
      {PlantedRows::kSinkEven, true, true},   {PlantedRows::kHalfSink, true, false}};
  for (const int64_t tokens : {16, 32, 64, 256, 1024, 4096}) {
    for (const Row& row : table) {
      const auto attention = attention_of({row.rows, tokens});
      for (const double epsilon : {0.1, 0.3, 0.5}) {
        const SinkVerdict verdict = judge_sink(attention, {.epsilon = epsilon});
        SCOPED_TRACE(testing::Message() << "rows " << static_cast<int>(row.rows) << ", " << tokens
                                        << " tokens, epsilon " << epsilon);
        EXPECT_FALSE(verdict.too_short);
        EXPECT_EQ(verdict.sink, row.sink);
        EXPECT_EQ(verdict.event, row.event);
        EXPECT_EQ(verdict.sink_keys.size(), row.sink ? 1u : 0u);
      }
    }
  }
}

TEST(Sink, LiftIsWhatKeepsAUniformHeadOutAtSixteenTokens) {
  const auto attention = attention_of({PlantedRows::kUniform, 16});
  EXPECT_NEAR(test::alpha(attention, 0), harmonic(16) / 16, 1e-12);
  EXPECT_FALSE(judge_sink(attention, {.epsilon = 0.1}).sink);
  EXPECT_TRUE(judge_sink(attention, {.epsilon = 0.1, .min_lift = 1 - 1e-9}).sink);
}

TEST(Sink, EpsilonIsStrict) {
  const auto attention = attention_of({PlantedRows::kSinkEven, 32, 0.25, false});
  EXPECT_EQ(test::alpha(attention, 0), 0.25);
  EXPECT_FALSE(judge_sink(attention, {.epsilon = 0.25}).sink);
  EXPECT_TRUE(judge_sink(attention, {.epsilon = 0.2499}).sink);
  EXPECT_EQ(measure(attention, {.epsilon = 0.25}).value("plain_rate"), 0);
}

TEST(Sink, TiesGoToTheLowestPosition) {
  const auto attention = attention_of({PlantedRows::kUniform, 32, 1, false});
  EXPECT_EQ(judge_sink(attention, {}).key, 0);
}

TEST(Sink, KeysThatDoNotExistHaveNoData) {
  const auto head = measure(attention_of({PlantedRows::kUniform, 2}));
  EXPECT_EQ(head.value("alpha", 1), 0.5);
  EXPECT_TRUE(std::isnan(head.value("alpha", 2)));
  EXPECT_TRUE(std::isnan(head.value("plain_rate", 3)));
  EXPECT_EQ(head.value("plain_rate", 0), 1);  // published form: 0.75 > 0.3, no eligibility
  EXPECT_EQ(head.value("too_short"), 1);
  EXPECT_TRUE(std::isnan(head.value("sink")));
  EXPECT_TRUE(std::isnan(head.value("event")));
}

/// Every query gives `share` to the sink logit, the rest evenly to the keys it sees; a negative
/// share stands for that many times what each key gets.
stats::AttentionValues with_sink_logit(int64_t tokens, double share) {
  stats::AttentionValues sums = test::empty_attention(tokens);
  std::vector<double> row(static_cast<size_t>(tokens));
  for (int64_t i = 0; i < tokens; ++i) {
    const double keys = static_cast<double>(i + 1);
    const double taken = share < 0 ? -share / (keys - share) : share;
    for (int64_t k = 0; k <= i; ++k) row[static_cast<size_t>(k)] = (1 - taken) / keys;
    test::add_row(sums, row, i, 0, i + 1);
  }
  return sums;
}

TEST(Sink, TheLearnedSinkLogitIsAKeyOfItsOwn) {
  const auto head = measure(with_sink_logit(64, 0.9));
  EXPECT_EQ(head.value("sink_index"), -1);
  EXPECT_NEAR(head.value("alpha_sink"), 0.9, 1e-12);
  EXPECT_NEAR(head.value("sink_logit_mass"), 0.9, 1e-12);
  EXPECT_EQ(head.value("sink"), 1);
  EXPECT_EQ(head.value("event"), 1);
  EXPECT_EQ(head.value("sink_keys"), -1);
}

TEST(Sink, NearMissOfTheSinkLogit) {
  const auto quiet = measure(with_sink_logit(64, 0.05));
  EXPECT_EQ(quiet.value("sink_index"), 0);
  EXPECT_EQ(quiet.value("sink"), 0);
  EXPECT_NEAR(quiet.value("sink_logit_mass"), 0.05, 1e-12);
  // Little more than one uniform key is loud in short inputs, but has no lift.
  const SinkVerdict uniform = judge_sink(with_sink_logit(16, -1.5), {.epsilon = 0.1});
  EXPECT_EQ(uniform.key, kSinkLogitKey);
  EXPECT_GT(uniform.alpha, 0.1);
  EXPECT_FALSE(uniform.sink);
}

TEST(Sink, RoundingOfTheRowsIsNoSinkLogit) {
  // A window of 4 leaves no key to judge; the rounding must not step in as the only candidate.
  auto attention = attention_of({PlantedRows::kUniform, 64, 1, true, 4});
  attention.sink_logit_sum = 64 * 1e-7;
  EXPECT_TRUE(judge_sink(attention, {}).too_short);
  attention.sink_logit_sum = 64 * 0.6;
  EXPECT_EQ(judge_sink(attention, {}).key, kSinkLogitKey);
}

TEST(Sink, OneThirdEachWithASinkLogitOfZero) {
  // Two logits 0, 0 and sink logit 0: 1/3 each; with log 2: 1/4, 1/4 and 1/2 missing.
  for (const double share : {1.0 / 3, 0.5}) {
    stats::AttentionValues sums = test::empty_attention(2);
    const double key = (1 - share) / 2;
    const std::vector<double> row = {key, key};
    test::add_row(sums, row, 0, 0, 2);
    test::add_row(sums, row, 1, 0, 2);
    const auto head = measure(sums);
    EXPECT_NEAR(head.value("alpha"), key, 1e-12);
    EXPECT_NEAR(head.value("sink_logit_mass"), share, 1e-12);
  }
}

TEST(Sink, AHeadThatWasNotMeasuredHasNoData) {
  const auto attention = attention_of({PlantedRows::kSinkEven, 32});
  LayerInput input;
  input.heads.resize(2);
  input.heads[1].attention = &attention;
  const Record record = test::run_layer(input, 2);
  EXPECT_TRUE(std::isnan(record.find("too_short", 0)[0]));
  EXPECT_TRUE(std::isnan(record.find("class", 0)[0]));
  EXPECT_EQ(record.find("sink", 0)[1], 1);
  EXPECT_EQ(record.find("alpha", 0)[4], 1);
}

}  // namespace
}  // namespace sinkscope::diagnostics
