#include "sinkscope/stats/head_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "sinkscope/base/error.h"

namespace sinkscope::stats {
namespace {

using forward::AttentionSums;
using forward::Visibility;
using Rows = std::vector<std::vector<float>>;

double alpha(const AttentionValues& values, size_t key) {
  return values.key_mass[key] / static_cast<double>(values.key_queries[key]);
}

void add_rows(HeadAttention& head, const Rows& rows, const Visibility& visibility) {
  const auto tokens = static_cast<int64_t>(rows.size());
  for (int64_t query = 0; query < tokens; ++query) {
    const auto [first, last] = visibility.keys_of(query, tokens);
    head.add(query, rows[static_cast<size_t>(query)], first, last);
  }
}

Rows uniform_rows(int64_t tokens, const Visibility& visibility) {
  Rows rows(static_cast<size_t>(tokens), std::vector<float>(static_cast<size_t>(tokens)));
  for (int64_t query = 0; query < tokens; ++query) {
    const auto [first, last] = visibility.keys_of(query, tokens);
    auto& row = rows[static_cast<size_t>(query)];
    std::fill(row.begin() + first, row.begin() + last, 1 / static_cast<float>(last - first));
  }
  return rows;
}

/// Softmax of random scores beside a sink logit of score 0 where `sink_logit`.
Rows random_rows(int64_t tokens, const Visibility& visibility, bool sink_logit) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal(0, 2);
  Rows rows(static_cast<size_t>(tokens), std::vector<float>(static_cast<size_t>(tokens)));
  for (int64_t query = 0; query < tokens; ++query) {
    const auto [first, last] = visibility.keys_of(query, tokens);
    std::vector<double> weights;
    double total = sink_logit ? 1 : 0;
    for (int64_t k = first; k < last; ++k) total += weights.emplace_back(std::exp(normal(random)));
    for (int64_t k = first; k < last; ++k) {
      rows[static_cast<size_t>(query)][static_cast<size_t>(k)] =
          static_cast<float>(weights[static_cast<size_t>(k - first)] / total);
    }
  }
  return rows;
}

/// What a kernel would hand out, by the definitions of attention_sums.h.
AttentionSums sums_of(const Rows& rows, const Visibility& visibility, double event_mass,
                      bool sink_logit) {
  const auto tokens = static_cast<int64_t>(rows.size());
  AttentionSums sums;
  sums.resize(tokens, sink_logit);
  for (int64_t query = 0; query < tokens; ++query) {
    const auto [first, last] = visibility.keys_of(query, tokens);
    const auto i = static_cast<size_t>(query);
    double entropy = 0, square = 0, total = 0;
    for (int64_t k = first; k < last; ++k) {
      const double a = rows[i][static_cast<size_t>(k)];
      sums.key_mass[static_cast<size_t>(k)] += a;
      sums.key_mass_sq[static_cast<size_t>(k)] += a * a;
      sums.key_events[static_cast<size_t>(k)] += a >= event_mass;
      entropy -= a > 0 ? a * std::log(a) : 0;
      square += a * a;
      total += a;
    }
    sums.row_entropy[i] = static_cast<float>(entropy);
    sums.row_square[i] = static_cast<float>(square);
    sums.row_self[i] = rows[i][i];
    if (sink_logit && first < last) sums.row_missing[i] = static_cast<float>(1 - total);
  }
  return sums;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& expected,
                 double relative) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], relative * std::max(1.0, std::abs(expected[i])))
        << "entry " << i;
  }
}

/// Counts must agree exactly; `relative` bounds the rest.
void expect_equal(const AttentionValues& got, const AttentionValues& expected, double relative) {
  EXPECT_EQ(got.key_events, expected.key_events);
  EXPECT_EQ(got.key_queries, expected.key_queries);
  EXPECT_EQ(got.queries, expected.queries);
  EXPECT_EQ(got.queries_many, expected.queries_many);
  EXPECT_EQ(got.sink_logit_events, expected.sink_logit_events);
  expect_near(got.key_mass, expected.key_mass, relative);
  expect_near(got.key_mass_sq, expected.key_mass_sq, relative);
  expect_near(got.key_uniform, expected.key_uniform, relative);
  expect_near(
      {got.entropy_sum, got.entropy_norm_sum, got.self_sum, got.square_sum, got.sink_logit_sum},
      {expected.entropy_sum, expected.entropy_norm_sum, expected.self_sum, expected.square_sum,
       expected.sink_logit_sum},
      relative);
}

AttentionValues values_of(const Rows& rows, const Visibility& visibility, double event_mass) {
  HeadAttention head(static_cast<int64_t>(rows.size()), event_mass);
  add_rows(head, rows, visibility);
  return head.value();
}

TEST(HeadAttention, UniformCausal) {
  const AttentionValues values = values_of(uniform_rows(64, {}), {}, 0.3);
  double harmonic = 0;
  for (int i = 1; i <= 64; ++i) harmonic += 1.0 / i;
  EXPECT_NEAR(alpha(values, 0), 0.07412330, 5e-9);  // H_64 / 64
  EXPECT_NEAR(alpha(values, 63), 1.0 / 64, 1e-9);
  expect_near(values.key_mass, values.key_uniform, 1e-6);
  EXPECT_EQ(values.key_queries[0], 64);
  EXPECT_EQ(values.key_queries[63], 1);
  EXPECT_EQ(values.queries, 64);
  EXPECT_EQ(values.queries_many, 63);  // query 0 sees only itself
  EXPECT_NEAR(values.entropy_norm_sum, 63, 1e-5);
  EXPECT_NEAR(values.self_sum, harmonic, 1e-6);
  EXPECT_NEAR(values.square_sum, harmonic, 1e-6);
  EXPECT_EQ(values.key_events[0], 3);  // 1, 1/2 and 1/3 are at least 0.3
  EXPECT_EQ(values.key_events[3], 0);
  EXPECT_NEAR(values.sink_logit_sum, 0, 1e-5);
}

TEST(HeadAttention, DiagonalIsAllOnItself) {
  Rows rows(64, std::vector<float>(64));
  for (size_t i = 0; i < 64; ++i) rows[i][i] = 1;
  const AttentionValues values = values_of(rows, {}, 0.3);
  EXPECT_EQ(alpha(values, 0), 1.0 / 64);
  EXPECT_EQ(alpha(values, 61), 1.0 / 3);
  EXPECT_EQ(alpha(values, 62), 0.5);
  EXPECT_EQ(alpha(values, 63), 1);
  EXPECT_EQ(values.self_sum, 64);
  EXPECT_EQ(values.square_sum, 64);
  EXPECT_EQ(values.entropy_sum, 0);
  EXPECT_EQ(values.key_events, std::vector<int64_t>(64, 1));
}

// Case ATT-6: query i sees keys i-3..i, so that key k is counted for min(4, 8-k) queries.
TEST(HeadAttention, WindowCountsItsQueries) {
  const Visibility window{.window = 4};
  const AttentionValues values = values_of(uniform_rows(8, window), window, 0.3);
  EXPECT_EQ(values.key_queries, (std::vector<int64_t>{4, 4, 4, 4, 4, 3, 2, 1}));
  EXPECT_NEAR(alpha(values, 0), 25.0 / 48, 1e-7);
  EXPECT_NEAR(alpha(values, 4), 0.25, 1e-7);
  expect_near(values.key_mass, values.key_uniform, 1e-6);
}

// Case ATT-1.
TEST(HeadAttention, QueryWithoutVisibleKeyChangesNothing) {
  const Rows rows = uniform_rows(4, {});
  HeadAttention with(4, 0.3), without(4, 0.3);
  for (int64_t query = 0; query < 4; ++query) {
    with.add(query, rows[static_cast<size_t>(query)], 0, query + 1);
    without.add(query, rows[static_cast<size_t>(query)], 0, query + 1);
    with.add(query, std::vector<float>(4, NAN), query, query);
  }
  expect_equal(with.value(), without.value(), 0);
}

TEST(HeadAttention, EntriesOutsideTheVisibleRangeAreNotRead) {
  HeadAttention head(4, 0.3);
  head.add(0, std::vector<float>{NAN, 0.25f, 0.75f, NAN}, 1, 3);
  const AttentionValues& values = head.value();
  EXPECT_EQ(values.key_mass, (std::vector<double>{0, 0.25, 0.75, 0}));
  EXPECT_EQ(values.key_uniform, (std::vector<double>{0, 0.5, 0.5, 0}));
  EXPECT_EQ(values.self_sum, 0);  // the query does not see itself
  EXPECT_EQ(values.square_sum, 0.625);
}

TEST(HeadAttention, EventNeedsAtLeastTheEventMass) {
  HeadAttention head(3, 0.25);
  head.add(2, std::vector<float>{0.25f, 0.2499f, 0.5f}, 0, 3);
  EXPECT_EQ(head.value().key_events, (std::vector<int64_t>{1, 0, 1}));
}

// Case ATT-7: logits (1, 0) beside a sink logit 0.
TEST(HeadAttention, MissingMassBelongsToTheSinkLogit) {
  const std::vector<float> row = {0.57611688f, 0.21194156f};
  HeadAttention head(2, 0.2);
  head.add(1, row, 0, 2);
  EXPECT_NEAR(head.value().sink_logit_sum, 0.21194156, 1e-7);
  EXPECT_EQ(head.value().sink_logit_events, 1);
  EXPECT_NEAR(head.value().entropy_sum,
              -0.57611688 * std::log(0.57611688) - 0.21194156 * std::log(0.21194156), 1e-7);
  HeadAttention strict(2, 0.3);
  strict.add(1, row, 0, 2);
  EXPECT_EQ(strict.value().sink_logit_events, 0);
}

struct Mask {
  const char* name;
  Visibility visibility;
  bool sink_logit;
};

std::vector<Mask> masks() {
  static const std::vector<int64_t> first = {0, 0, 0, 0, 0, 5, 5, 5, 8, 8, 8, 8};
  static const std::vector<int64_t> end = {5, 5, 5, 5, 5, 8, 8, 8, 12, 12, 12, 12};
  return {
      {"causal", {}, false},
      {"causal with a sink logit", {}, true},
      {"window", {.window = 3}, false},
      {"window as long as the sequence", {.window = 12}, true},
      {"both directions", {.causal = false}, false},
      {"window in both directions", {.causal = false, .window = 2}, true},
      {"documents", {.document_first = first.data()}, false},
      {"documents in both directions",
       {.causal = false, .document_first = first.data(), .document_end = end.data()},
       true},
  };
}

TEST(HeadAttention, SumsOfAKernelEqualItsRowsOneByOne) {
  for (const Mask& mask : masks()) {
    SCOPED_TRACE(mask.name);
    const Rows rows = random_rows(12, mask.visibility, mask.sink_logit);
    AttentionValues expected = values_of(rows, mask.visibility, 0.3);
    if (!mask.sink_logit) expected.sink_logit_sum = 0;  // rows alone leave their rounding there
    HeadAttention head(12, 0.3);
    head.add(sums_of(rows, mask.visibility, 0.3, mask.sink_logit), mask.visibility);
    expect_equal(head.value(), expected, 1e-6);
  }
}

// Queries that the mask leaves without a key hold zeros in a kernel's sums.
TEST(HeadAttention, SumsLeaveOutQueriesWithoutAKey) {
  const std::vector<int64_t> first = {1, 1, 1};  // query 0 lies before its document
  const Visibility visibility{.document_first = first.data()};
  const Rows rows = uniform_rows(3, visibility);
  HeadAttention head(3, 0.3);
  head.add(sums_of(rows, visibility, 0.3, true), visibility);
  EXPECT_EQ(head.value().queries, 2);
  EXPECT_EQ(head.value().key_queries, (std::vector<int64_t>{0, 2, 1}));
  EXPECT_EQ(head.value().sink_logit_events, 0);
}

TEST(HeadAttention, MergeOfPartsEqualsTheWholeInAnyOrder) {
  for (const Mask& mask : masks()) {
    SCOPED_TRACE(mask.name);
    const Rows rows = random_rows(12, mask.visibility, mask.sink_logit);
    const AttentionValues whole = values_of(rows, mask.visibility, 0.3);
    std::vector<HeadAttention> parts(4, HeadAttention(12, 0.3));  // the last stays empty
    for (int64_t query = 0; query < 12; ++query) {
      const auto [first, last] = mask.visibility.keys_of(query, 12);
      parts[static_cast<size_t>(query % 3)].add(query, rows[static_cast<size_t>(query)], first,
                                                last);
    }
    for (const std::vector<size_t>& order :
         {std::vector<size_t>{0, 1, 2, 3}, {3, 2, 0, 1}, {1, 3, 2, 0}}) {
      HeadAttention merged(12, 0.3);
      for (const size_t part : order) merged.merge(parts[part]);
      expect_equal(merged.value(), whole, 1e-12);
    }
  }
}

TEST(HeadAttention, RefusesASequenceWithoutTokens) {
  for (const int64_t tokens : {0, -1}) {
    try {
      HeadAttention(tokens, 0.3);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, ErrorKind::kUsage);
    }
  }
}

}  // namespace
}  // namespace sinkscope::stats
