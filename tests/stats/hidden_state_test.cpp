#include "sinkscope/stats/hidden_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace sinkscope::stats {
namespace {

std::vector<float> normal_floats(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

double sorted_median(std::vector<float> values) {
  for (float& value : values) value = std::abs(value);
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  if (values.size() % 2 != 0) return values[half];
  return (static_cast<double>(values[half - 1]) + values[half]) / 2;
}

double median_of(const std::vector<float>& values) {
  return residual_values(values.data(), 1, static_cast<int64_t>(values.size()), 1e30).median_abs;
}

TEST(ResidualValues, MedianIsExact) {
  const float smallest = std::numeric_limits<float>::denorm_min(),
              largest = std::numeric_limits<float>::max();
  const std::vector<std::vector<float>> cases = {
      {-3},
      {0, -0.0f},
      {1, -2},
      {-5, 1, 4},
      {1, 1.0000001f, 1.0000002f, 1.0000003f},  // all in one bin of the coarse order
      {0.5f, 1, 2, 4},                          // the two middle ones in different bins
      {smallest, -2 * smallest, 3 * smallest, 0},
      {largest, -largest, largest, smallest},
      {largest, -largest},  // their sum is above the range of float
      {0, 0, 0, 7, -7},
  };
  for (const auto& values : cases) EXPECT_EQ(median_of(values), sorted_median(values)) << values[0];
}

TEST(ResidualValues, MedianIsExactOnRandomPatterns) {
  std::mt19937_64 random(5);
  for (const size_t count : {1, 2, 3, 10, 101, 1000, 4097}) {
    EXPECT_EQ(median_of(normal_floats(count, count)), sorted_median(normal_floats(count, count)))
        << count;
    std::vector<float> patterns(count);  // every exponent, both signs, subnormals
    for (float& value : patterns) {
      do value = std::bit_cast<float>(static_cast<uint32_t>(random()));
      while (!std::isfinite(value));
    }
    EXPECT_EQ(median_of(patterns), sorted_median(patterns)) << count;
  }
}

TEST(ResidualValues, NormsAreThoseOfTheTokens) {
  const std::vector<float> x = {3, 4, 0, 0, 0, 0, 1e20f, -1e20f, 1e20f};
  const ResidualValues values = residual_values(x.data(), 3, 3, 1e30);
  EXPECT_EQ(values.norm[0], 5);
  EXPECT_EQ(values.norm[1], 0);
  EXPECT_NEAR(values.norm[2] / (std::sqrt(3.0) * 1e20), 1, 1e-7);  // no overflow of the squares
}

TEST(ResidualValues, TopThreeKeepSignAndPlace) {
  const std::vector<float> x = {1, -9, 2, 3, 8, -7};  // two tokens, three channels
  const auto top = residual_values(x.data(), 2, 3, 1e30).top;
  EXPECT_EQ(top[0].value, -9);
  EXPECT_EQ(top[0].position, 0);
  EXPECT_EQ(top[0].channel, 1);
  EXPECT_EQ(top[1].value, 8);
  EXPECT_EQ(top[1].position, 1);
  EXPECT_EQ(top[1].channel, 1);
  EXPECT_EQ(top[2].value, -7);
  EXPECT_EQ(top[2].channel, 2);
}

// Ties: lowest position, then lowest channel.
TEST(ResidualValues, TopThreeOfTiesAreTheFirst) {
  std::mt19937_64 random(3);
  constexpr int64_t kTokens = 6, kWidth = 5;
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<float> x(kTokens * kWidth);
    for (float& value : x) value = static_cast<float>(static_cast<int>(random() % 9) - 4);
    std::vector<size_t> order(x.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return std::abs(x[a]) > std::abs(x[b]); });
    const auto top = residual_values(x.data(), kTokens, kWidth, 1e30).top;
    for (size_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(top[rank].position, static_cast<int64_t>(order[rank]) / kWidth)
          << trial << " " << rank;
      EXPECT_EQ(top[rank].channel, static_cast<int64_t>(order[rank]) % kWidth)
          << trial << " " << rank;
      EXPECT_EQ(top[rank].value, x[order[rank]]);
    }
  }
}

TEST(ResidualValues, FewerThanThreeEntriesLeaveZeros) {
  const float x[] = {0, -2};
  const auto top = residual_values(x, 1, 2, 1e30).top;
  EXPECT_EQ(top[0].value, -2);
  EXPECT_EQ(top[1].value, 0);
  EXPECT_EQ(top[2].value, 0);
}

TEST(ResidualValues, LargeEntriesAreThoseAboveTheFloorInOrder) {
  const std::vector<float> x = {100, -101, 0, 200, 100.5f, -300};
  const ResidualValues values = residual_values(x.data(), 2, 3, 100);
  EXPECT_EQ(values.large_count, 4);  // 100 itself is not above 100
  ASSERT_EQ(values.large.size(), 4u);
  EXPECT_EQ(values.large[0].value, -101);
  EXPECT_EQ(values.large[0].channel, 1);
  EXPECT_EQ(values.large[1].value, 200);
  EXPECT_EQ(values.large[1].position, 1);
  EXPECT_EQ(values.large[3].value, -300);
  EXPECT_EQ(values.large[3].channel, 2);
}

TEST(ResidualValues, ListOfLargeEntriesIsCappedAndCountedInFull) {
  const std::vector<float> x(5000, 200);
  const ResidualValues values = residual_values(x.data(), 50, 100, 100);
  EXPECT_EQ(values.large_count, 5000);
  ASSERT_EQ(values.large.size(), 4096u);
  EXPECT_EQ(values.large.back().position, 40);
  EXPECT_EQ(values.large.back().channel, 95);
}

/// The means over pairs by their definition, O(T^2).
struct Pairs {
  double all = 0, rest = 0;
  std::vector<double> first;
};

Pairs pairs_of(const std::vector<float>& z, int64_t width) {
  const int64_t tokens = static_cast<int64_t>(z.size()) / width;
  const auto cosine = [&](int64_t a, int64_t b) {
    double dot = 0, aa = 0, bb = 0;
    for (int64_t c = 0; c < width; ++c) {
      const double x = z[static_cast<size_t>(a * width + c)],
                   y = z[static_cast<size_t>(b * width + c)];
      dot += x * y, aa += x * x, bb += y * y;
    }
    return aa > 0 && bb > 0 ? dot / std::sqrt(aa * bb) : 0;
  };
  Pairs pairs;
  double all = 0, rest = 0;
  for (int64_t j = 0; j < tokens; ++j) {
    pairs.first.push_back(cosine(0, j));
    for (int64_t i = 0; i < j; ++i) {
      pairs.all += cosine(i, j), all += 1;
      if (i > 0) pairs.rest += cosine(i, j), rest += 1;
    }
  }
  pairs.all /= all, pairs.rest /= rest;
  return pairs;
}

void expect_formula(const SimilarityValues& values, const Pairs& pairs) {
  EXPECT_NEAR(values.pair_mean, pairs.all, 1e-12);
  EXPECT_NEAR(values.pair_mean_rest, pairs.rest, 1e-12);
  ASSERT_EQ(values.cos_first.size(), pairs.first.size());
  for (size_t t = 0; t < pairs.first.size(); ++t)
    EXPECT_NEAR(values.cos_first[t], pairs.first[t], 1e-12) << t;
}

TEST(Similarity, EqualsTheFormulaOverAllPairs) {
  const std::vector<float> z = normal_floats(20 * 7, 1);
  Similarity similarity(7);
  similarity.add(z.data(), 20);
  expect_formula(similarity.value(), pairs_of(z, 7));
}

TEST(Similarity, RowsOfZeroLengthHaveCosineZero) {
  for (const std::vector<int64_t>& zero : {std::vector<int64_t>{3}, {0}, {0, 5, 6}}) {
    std::vector<float> z = normal_floats(8 * 4, 2);
    for (const int64_t row : zero) std::fill_n(z.begin() + row * 4, 4, 0.0f);
    Similarity similarity(4);
    similarity.add(z.data(), 8);
    expect_formula(similarity.value(), pairs_of(z, 4));
  }
}

TEST(Similarity, PartsMergedEqualTheWhole) {
  std::vector<float> z = normal_floats(15 * 6, 4);
  std::fill_n(z.begin() + 3 * 6, 6, 0.0f);
  std::fill_n(z.begin() + 14 * 6, 6, 0.0f);
  for (const int64_t cut : {1, 7, 14}) {
    Similarity whole(6), head(6);
    whole.add(z.data(), 15);
    head.add(z.data(), cut);
    Similarity tail = head.start_from();
    for (int64_t row = cut; row < 15; ++row) tail.add(z.data() + row * 6, 1);
    head.merge(tail);
    expect_formula(head.value(), pairs_of(z, 6));
    EXPECT_EQ(head.value().cos_first, whole.value().cos_first);
  }
}

TEST(Similarity, MergeWithAnEmptyOneChangesNothing) {
  const std::vector<float> z = normal_floats(5 * 3, 6);
  Similarity similarity(3);
  similarity.add(z.data(), 5);
  similarity.merge(similarity.start_from());
  expect_formula(similarity.value(), pairs_of(z, 3));
}

TEST(Similarity, TooFewTokensHaveNoPairs) {
  const std::vector<float> z = {1, 2, 2, 1};
  Similarity one(2);
  one.add(z.data(), 1);
  EXPECT_TRUE(std::isnan(one.value().pair_mean));
  EXPECT_TRUE(std::isnan(one.value().pair_mean_rest));
  EXPECT_NEAR(one.value().cos_first.at(0), 1, 1e-15);
  one.add(z.data() + 2, 1);
  EXPECT_NEAR(one.value().pair_mean, 0.8, 1e-15);
  EXPECT_TRUE(std::isnan(one.value().pair_mean_rest));
}

}  // namespace
}  // namespace sinkscope::stats
