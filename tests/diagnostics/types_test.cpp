#include <gtest/gtest.h>

#include <cmath>

#include "tests/diagnostics/planted.h"

namespace sinkscope::diagnostics {
namespace {

using test::attention_of;

Record measure_types(const std::vector<stats::AttentionValues>& heads,
                     const std::vector<TokenType>& types) {
  LayerInput input;
  input.types = types;
  input.heads.resize(heads.size());
  for (size_t h = 0; h < heads.size(); ++h) input.heads[h].attention = &heads[h];
  return test::run_layer(input, static_cast<int>(heads.size()));
}

std::vector<TokenType> types_with(TokenType first, int64_t at, TokenType other) {
  std::vector<TokenType> types(32, TokenType::kOther);
  types[0] = first;
  types[static_cast<size_t>(at)] = other;
  return types;
}

/// Every query that sees `key` gives it 0.95, earlier ones themselves.
stats::AttentionValues sink_at(int64_t key) {
  stats::AttentionValues sums = test::empty_attention(32);
  for (int64_t i = 0; i < 32; ++i) {
    std::vector<double> row(32, 0);
    row[static_cast<size_t>(i)] = i > key ? 0.05 : 1;
    if (i > key) row[static_cast<size_t>(key)] = 0.95;
    test::add_row(sums, row, i, 0, i + 1);
  }
  return sums;
}

double count(const Record& record, TokenType type) {
  return record.find("type_events", 0)[static_cast<size_t>(type)];
}

TEST(Types, EventsByTheTypeOfTheirKey) {
  const Record record = measure_types({sink_at(0), sink_at(5), sink_at(0),
                                       attention_of({.rows = PlantedRows::kUniform, .tokens = 32})},
                                      types_with(TokenType::kBos, 5, TokenType::kFirstDelimiter));
  EXPECT_EQ(count(record, TokenType::kBos), 2);
  EXPECT_EQ(count(record, TokenType::kFirstDelimiter), 1);
  EXPECT_EQ(count(record, TokenType::kOther), 0);
  const auto types = record.find("sink_type", 0);
  EXPECT_EQ(types[0], 0);
  EXPECT_EQ(types[1], 3);
  EXPECT_TRUE(std::isnan(types[3]));
}

// Half of the queries use the key: a conditional sink is no event.
TEST(Types, NearMissAConditionalSinkIsNotCounted) {
  const Record record =
      measure_types({attention_of({.rows = PlantedRows::kHalfSink, .tokens = 32})},
                    types_with(TokenType::kFirst, 3, TokenType::kNewline));
  EXPECT_EQ(count(record, TokenType::kFirst), 0);
  EXPECT_TRUE(std::isnan(record.find("sink_type", 0)[0]));
}

TEST(Types, ALearnedSinkLogitIsATypeOfItsOwn) {
  stats::AttentionValues sums = test::empty_attention(32);
  for (int64_t i = 0; i < 32; ++i) {
    std::vector<double> row(32, 0);
    row[static_cast<size_t>(i)] = 0.1;
    test::add_row(sums, row, i, 0, i + 1);
  }
  const Record record = measure_types({sums}, types_with(TokenType::kBos, 3, TokenType::kOther));
  EXPECT_EQ(count(record, TokenType::kSinkLogit), 1);
}

TEST(Types, WithoutTypesOrJudgedHeadsThereIsNoData) {
  EXPECT_TRUE(std::isnan(count(measure_types({sink_at(0)}, {}), TokenType::kBos)));
  const auto too_short = attention_of({.rows = PlantedRows::kUniform, .tokens = 4});
  const Record record = measure_types({too_short}, std::vector<TokenType>(4, TokenType::kOther));
  EXPECT_TRUE(std::isnan(count(record, TokenType::kOther)));
}

}  // namespace
}  // namespace sinkscope::diagnostics
