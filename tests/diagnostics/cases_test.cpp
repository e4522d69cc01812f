#include <gtest/gtest.h>

#include <cmath>

#include "sinkscope/diagnostics/sink.h"
#include "tests/diagnostics/planted.h"

// The part of the public cases that the diagnostics answer, one test per id.

namespace sinkscope::diagnostics {
namespace {

using test::alpha;
using test::attention_of;

TEST(Cases, MET_1) {
  const std::pair<int64_t, double> uniform[] = {{4, 0.520833},   {8, 0.339732},  {9, 0.314330},
                                                {10, 0.292897},  {16, 0.211296}, {64, 0.074123},
                                                {4096, 0.002172}};
  for (const auto& [tokens, alpha0] : uniform) {
    SCOPED_TRACE(tokens);
    const auto attention = attention_of({PlantedRows::kUniform, tokens});
    EXPECT_NEAR(alpha(attention, 0), alpha0, 5e-7);
    for (const PlantedRows rows : {PlantedRows::kUniform, PlantedRows::kDiagonal,
                                   PlantedRows::kPrevious, PlantedRows::kSinkEven}) {
      const SinkVerdict verdict = judge_sink(attention_of({rows, tokens}), {});
      EXPECT_EQ(verdict.too_short, tokens == 4);
      EXPECT_EQ(verdict.sink, tokens > 4 && rows == PlantedRows::kSinkEven);
    }
  }
  const auto diagonal = attention_of({PlantedRows::kDiagonal, 64});
  EXPECT_NEAR(alpha(diagonal, 61), 1.0 / 3, 1e-12);
  EXPECT_NEAR(alpha(diagonal, 62), 0.5, 1e-12);
  EXPECT_NEAR(alpha(diagonal, 63), 1, 1e-12);
  const auto previous = attention_of({PlantedRows::kPrevious, 64});
  EXPECT_NEAR(alpha(previous, 0), 2.0 / 64, 1e-12);
  EXPECT_NEAR(alpha(previous, 61), 1.0 / 3, 1e-12);
  EXPECT_NEAR(alpha(previous, 62), 0.5, 1e-12);
  EXPECT_EQ(alpha(previous, 63), 0);
}

TEST(Cases, MET_1_ThePlainMetricCountsAUniformHeadAtNineTokens) {
  EXPECT_EQ(test::measure(attention_of({PlantedRows::kUniform, 9})).value("plain_rate"), 1);
  EXPECT_EQ(test::measure(attention_of({PlantedRows::kUniform, 10})).value("plain_rate"), 0);
}

TEST(Cases, MET_2) {
  for (const int64_t tokens : {10, 20, 43, 44}) {
    for (const double epsilon : {0.1, 0.3}) {
      const auto attention = attention_of({PlantedRows::kUniform, tokens});
      const SinkVerdict verdict = judge_sink(attention, {.epsilon = epsilon});
      EXPECT_FALSE(verdict.sink) << tokens;
      EXPECT_TRUE(verdict.sink_keys.empty()) << tokens;
    }
  }
}

TEST(Cases, MET_5) {
  struct Row {
    double mass, sink_value;
    PlantedRows rows;
    double event, stable_rank;  // rank 0: not measured
    HeadClass expected;
  };
  using enum PlantedRows;
  const Row table[] = {
      {0.99, 0, kSinkEven, 1, 1, HeadClass::kNop},
      {0.99, 0.1, kSinkEven, 1, 1, HeadClass::kNop},
      {0.99, 0.19, kSinkEven, 1, 1, HeadClass::kNop},
      {0.99, 0.3, kSinkEven, 1, 1, HeadClass::kOther},
      {0.99, 0.51, kSinkEven, 1, 1, HeadClass::kBroadcast},
      {0.99, 4, kSinkEven, 1, 1, HeadClass::kBroadcast},
      {0.60, 1, kSinkSelf, 1, 1.3911, HeadClass::kBroadcast},
      {0.50, 0.6, kSinkSelf, 1, 3.2312, HeadClass::kOther},
      {0.49, 4, kSinkEven, 0, 0, HeadClass::kNone},
  };
  for (const Row& row : table) {
    const auto head = test::measure(
        plant_head("", {row.rows, 32, row.mass, false}, PlantedValues::kUnit, row.sink_value));
    SCOPED_TRACE(testing::Message() << "m " << row.mass << ", c " << row.sink_value);
    EXPECT_EQ(head.value("event"), row.event);
    EXPECT_EQ(head.head_class(), row.expected);
    EXPECT_NEAR(head.value("ratio_out"), row.sink_value, 1e-12);
    if (row.stable_rank > 0) {
      EXPECT_NEAR(head.value("stable_rank"), row.stable_rank, 5e-5);
    }
  }
}

TEST(Cases, TOK_3) {
  const PlantedPattern documents{PlantedRows::kSinkEven, 64, 1, true, 0, 32};
  std::vector<double> row(64);
  stats::AttentionValues unmasked = test::empty_attention(64);
  for (int64_t i = 0; i < 64; ++i) {
    documents.write_row(i, row);
    test::add_row(unmasked, row, i, 0, i + 1);
  }
  const auto masked = attention_of(documents);
  EXPECT_EQ(alpha(unmasked, 0), 0.5);
  EXPECT_EQ(alpha(unmasked, 32), 1);
  EXPECT_EQ(alpha(masked, 0), 1);
  EXPECT_EQ(alpha(masked, 32), 1);
  EXPECT_EQ(judge_sink(unmasked, {}).sink_keys, (std::vector<int64_t>{32, 0}));
  EXPECT_EQ(judge_sink(masked, {}).sink_keys, (std::vector<int64_t>{0, 32}));
  const auto head = test::measure(unmasked);
  EXPECT_EQ(head.value("sink_count"), 2);
  EXPECT_EQ(head.value("sink_keys", 0), 32);
  EXPECT_EQ(head.value("sink_keys", 1), 0);
  EXPECT_TRUE(std::isnan(head.value("sink_keys", 2)));
}

TEST(Cases, TOK_4) {
  const auto head =
      test::measure(plant_head("one token", {PlantedRows::kUniform, 1}, PlantedValues::kUnit));
  EXPECT_EQ(head.value("alpha"), 1);
  EXPECT_EQ(head.value("too_short"), 1);
  EXPECT_EQ(head.head_class(), HeadClass::kTooShort);
  EXPECT_TRUE(std::isnan(head.value("sink")));
  EXPECT_TRUE(std::isnan(head.value("ratio_out")));
  EXPECT_TRUE(std::isnan(head.value("entropy_norm")));
  EXPECT_EQ(head.updates, 1);  // by update_all alone
}

TEST(Cases, ATT_6) {
  const auto windowed = attention_of({PlantedRows::kUniform, 8, 1, true, 4});
  const int64_t queries[] = {4, 4, 4, 4, 4, 3, 2, 1};
  for (size_t k = 0; k < 8; ++k) EXPECT_EQ(windowed.key_queries[k], queries[k]);
  EXPECT_NEAR(alpha(windowed, 0), 25.0 / 48, 1e-12);
  EXPECT_NEAR(alpha(windowed, 4), 0.25, 1e-12);
  EXPECT_NEAR(test::measure(windowed).value("alpha"), 0.520833, 5e-7);
  const auto full = attention_of({PlantedRows::kUniform, 8});
  EXPECT_NEAR(test::measure(full).value("alpha"), 0.339732, 5e-7);
}

}  // namespace
}  // namespace sinkscope::diagnostics
