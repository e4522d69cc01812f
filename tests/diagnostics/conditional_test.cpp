#include <gtest/gtest.h>

#include <cmath>

#include "sinkscope/stats/routing_values.h"
#include "tests/diagnostics/planted.h"

namespace sinkscope::diagnostics {
namespace {

/// A head whose every second query (or, as an event, every query) reads key 0; its value has
/// length `ratio`, the others 1, and the routed rows have the given stable rank.
Record measure_head(PlantedRows rows, double ratio, double routed_rank, int64_t tokens = 64) {
  const stats::AttentionValues attention = test::attention_of({rows, tokens, 1});
  stats::ValueNorms norms;
  norms.head.assign(static_cast<size_t>(tokens), 1);
  norms.head[0] = ratio;
  norms.out = norms.head;
  stats::RoutingValues routing;
  routing.min_to_key = 0.02;
  routing.routed_stable_rank = routed_rank;
  LayerInput input;
  input.heads.resize(1);
  input.heads[0].attention = &attention;
  input.heads[0].norms = &norms;
  input.heads[0].routing = &routing;
  return test::run_layer(input, 1);
}

double class_of(PlantedRows rows, double ratio, double routed_rank) {
  return measure_head(rows, ratio, routed_rank).find("class_conditional", 0)[0];
}

TEST(Conditional, ClassOfTheRoutedQueries) {
  EXPECT_EQ(class_of(PlantedRows::kHalfSink, 0.1, 9), 1);
  EXPECT_EQ(class_of(PlantedRows::kHalfSink, 1, 1), 2);
  EXPECT_EQ(class_of(PlantedRows::kHalfSink, 1, 1.51), 3);
  EXPECT_EQ(class_of(PlantedRows::kHalfSink, 0.35, 1), 3);
  EXPECT_EQ(measure_head(PlantedRows::kHalfSink, 1, 1).find("class", 0)[0], 0);  // no event
  EXPECT_EQ(measure_head(PlantedRows::kHalfSink, 1, 1.3).find("stable_rank_routed", 0)[0], 1.3);
}

TEST(Conditional, NearMissesAnEventAndNoSink) {
  EXPECT_TRUE(std::isnan(class_of(PlantedRows::kSinkEven, 0.1, 1)));
  EXPECT_TRUE(std::isnan(class_of(PlantedRows::kUniform, 0.1, 1)));
  EXPECT_EQ(measure_head(PlantedRows::kSinkEven, 0.1, 1).find("min_to_sink", 0)[0], 0.02);
}

TEST(Conditional, TooShortHasNoData) {
  const Record record = measure_head(PlantedRows::kHalfSink, 0.1, 1, 4);
  EXPECT_TRUE(std::isnan(record.find("min_to_sink", 0)[0]));
  EXPECT_TRUE(std::isnan(record.find("class_conditional", 0)[0]));
}

}  // namespace
}  // namespace sinkscope::diagnostics
