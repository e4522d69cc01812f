#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "sinkscope/stats/geometry_values.h"
#include "sinkscope/stats/weight_size_values.h"
#include "tests/diagnostics/planted.h"

namespace sinkscope::diagnostics {
namespace {

constexpr std::array<double, 2> kSpectrum{3, 4};

/// A head of 64 tokens in a layer where the sink costs 1 to 2 and the diagonal 5 to 8.
struct Layer {
  PlantedPattern pattern;
  stats::GeometryValues geometry;
  stats::WeightSizeValues size{10, 6, 0.125};

  Layer(PlantedRows rows, double sink_mass) : pattern{rows, 64, sink_mass} {
    geometry.sink_cost = {1, 2};
    geometry.diagonal_cost.nuclear = {5, 8};
    geometry.diagonal_cost.frobenius = {3, 4};
  }

  Record measure() const {
    const stats::AttentionValues attention = test::attention_of(pattern);
    LayerInput input;
    input.tokens = 64;
    input.geometry = &geometry;
    input.heads.resize(1);
    input.heads[0].attention = &attention;
    input.heads[0].qk_spectrum_plain = kSpectrum;
    input.heads[0].weight_size = &size;
    return test::run_layer(input, 1);
  }
};

TEST(Cost, ASinkAtItsMargin) {
  const Record record = Layer(PlantedRows::kSinkEven, 0.9).measure();
  EXPECT_EQ(record.find("qk_nuclear", 0)[0], 7);
  EXPECT_EQ(record.find("qk_frobenius", 0)[0], 5);
  EXPECT_EQ(record.find("vo_nuclear", 0)[0], 10);
  EXPECT_EQ(record.find("vo_frobenius", 0)[0], 6);
  EXPECT_EQ(record.find("cost_pattern", 0)[0], 1);
  const double share = record.find("alpha_sink", 0)[0], kappa = std::log(share / (1 - share));
  EXPECT_GT(share, 0.9);  // the first query gives everything to itself
  EXPECT_NEAR(record.find("cost_margin", 0)[0], kappa, 1e-12);
  EXPECT_NEAR(record.find("cost_bounds", 0)[0], 8 * kappa, 1e-12);  // divided by c = 1/8
  EXPECT_NEAR(record.find("cost_bounds", 0)[1], 16 * kappa, 1e-12);
  EXPECT_NEAR(record.find("cost_bounds_frobenius", 0)[1], 16 * kappa, 1e-12);  // the same norm
  EXPECT_NEAR(record.find("cost_needed", 0)[0], 16 * kappa / 7, 1e-12);
  EXPECT_EQ(record.find("cost_other_dearer", 0)[0], 1);
  EXPECT_EQ(record.find("diagonal_dearer", 0)[0], 1);
}

TEST(Cost, ADiagonalAtItsMargin) {
  // The sink holds 0.3 at most: not above epsilon.
  const Record record = Layer(PlantedRows::kSinkSelf, 0.28).measure();
  EXPECT_EQ(record.find("cost_pattern", 0)[0], 2);
  const double share = record.find("self_mass", 0)[0], kappa = std::log(share / (1 - share));
  EXPECT_NEAR(record.find("cost_margin", 0)[0], kappa, 1e-12);
  EXPECT_NEAR(record.find("cost_bounds", 0)[0], 40 * kappa, 1e-12);
  EXPECT_NEAR(record.find("cost_bounds", 0)[1], 64 * kappa, 1e-12);
  EXPECT_NEAR(record.find("cost_bounds_frobenius", 0)[0], 24 * kappa, 1e-12);
  EXPECT_NEAR(record.find("cost_bounds_frobenius", 0)[1], 32 * kappa, 1e-12);
  EXPECT_EQ(record.find("cost_other_dearer", 0)[0], 0);  // a sink would have been cheaper
}

TEST(Cost, NearMissBoundsThatOverlapDecideNothing) {
  Layer layer(PlantedRows::kSinkEven, 0.9);
  layer.geometry.sink_cost = {1, 5.5};
  EXPECT_TRUE(std::isnan(layer.measure().find("cost_other_dearer", 0)[0]));
  EXPECT_TRUE(std::isnan(layer.measure().find("diagonal_dearer", 0)[0]));
  layer.geometry.sink_cost = {9, 10};
  EXPECT_EQ(layer.measure().find("cost_other_dearer", 0)[0], 0);
  EXPECT_EQ(layer.measure().find("diagonal_dearer", 0)[0], 0);
  layer.geometry.diagonal_cost.nuclear.upper = kNoData;
  EXPECT_TRUE(std::isnan(layer.measure().find("cost_other_dearer", 0)[0]));
}

TEST(Cost, NearMissASinkThatLeadsNobody) {
  const Record record = Layer(PlantedRows::kSinkEven, 0.45).measure();
  EXPECT_EQ(record.find("cost_pattern", 0)[0], 1);
  EXPECT_TRUE(std::isnan(record.find("cost_margin", 0)[0]));  // A < 1/2
  EXPECT_TRUE(std::isnan(record.find("cost_bounds", 0)[0]));
  EXPECT_EQ(record.find("cost_other_dearer", 0)[0], 1);  // holds at every margin
}

TEST(Cost, NeitherPattern) {
  const Record record = Layer(PlantedRows::kUniform, 0).measure();
  EXPECT_EQ(record.find("cost_pattern", 0)[0], 0);
  EXPECT_TRUE(std::isnan(record.find("cost_other_dearer", 0)[0]));
  EXPECT_EQ(record.find("qk_nuclear", 0)[0], 7);
}

TEST(Cost, WhereNoMapMakesTheSink) {
  Layer layer(PlantedRows::kSinkEven, 0.9);
  const double infinite = std::numeric_limits<double>::infinity();
  layer.geometry.sink_cost = {infinite, infinite};
  const Record record = layer.measure();
  EXPECT_TRUE(std::isnan(record.find("sink_cost", 0)[0]));
  EXPECT_TRUE(std::isnan(record.find("cost_bounds", 0)[1]));
  EXPECT_TRUE(std::isnan(record.find("cost_needed", 0)[0]));
  EXPECT_EQ(record.find("cost_other_dearer", 0)[0], 0);
}

TEST(Cost, ALearnedSinkLogitNeedsNoMap) {
  Layer layer(PlantedRows::kSinkEven, 0.9);
  // Every row gives 0.9 to the sink logit and spreads the rest.
  stats::AttentionValues attention = test::empty_attention(64);
  for (int64_t i = 0; i < 64; ++i) {
    std::vector<double> row(64);
    for (int64_t k = 0; k <= i; ++k) row[static_cast<size_t>(k)] = 0.1 / static_cast<double>(i + 1);
    test::add_row(attention, row, i, 0, i + 1);
  }
  LayerInput input;
  input.geometry = &layer.geometry;
  input.heads.resize(1);
  input.heads[0].attention = &attention;
  input.heads[0].weight_size = &layer.size;
  const Record record = test::run_layer(input, 1);
  EXPECT_EQ(record.find("sink_index", 0)[0], -1);
  EXPECT_EQ(record.find("cost_bounds", 0)[1], 0);
  EXPECT_EQ(record.find("cost_other_dearer", 0)[0], 1);
  EXPECT_TRUE(std::isnan(record.find("qk_nuclear", 0)[0]));
}

}  // namespace
}  // namespace sinkscope::diagnostics
