#include <gtest/gtest.h>

#include <cmath>

#include "sinkscope/stats/routing_values.h"
#include "tests/diagnostics/planted.h"

namespace sinkscope::diagnostics {
namespace {

using stats::RoutingValues;

/// 200 queries, `dormant` of them dormant, with_sink of these at the sink by every epsilon.
RoutingValues head(int64_t dormant, int64_t with_sink, stats::DormantReasons reasons) {
  RoutingValues routing;
  routing.counts.queries = 200;
  routing.counts.dormant = dormant;
  routing.counts.tables.fill({with_sink, dormant - with_sink, 10, 190 - dormant});
  routing.counts.reasons = reasons;
  routing.counts.soft = dormant + 5;
  routing.values.count = 64;
  routing.values.rank = 60;
  routing.values.stable_rank = 4;
  routing.values.margin = 0.25;
  routing.values.sink_inside = true;
  return routing;
}

Record measure_heads(const std::vector<RoutingValues>& heads) {
  LayerInput input;
  input.heads.resize(heads.size());
  for (size_t h = 0; h < heads.size(); ++h) input.heads[h].routing = &heads[h];
  return test::run_layer(input, static_cast<int>(heads.size()));
}

double first(const Record& record, std::string_view metric, size_t i = 0) {
  return record.find(metric, 0)[i];
}

TEST(Switch, EveryDormantQueryAtTheSink) {
  const Record record = measure_heads({head(100, 95, {95, 0, 5, 0})});
  EXPECT_EQ(first(record, "switch_verdict"), 1);
  EXPECT_EQ(first(record, "switch_dormant"), 0.5);
  EXPECT_EQ(first(record, "switch_sink_given_off", 1), 0.95);
  EXPECT_NEAR(first(record, "switch_off_given_sink", 2), 95.0 / 105, 1e-15);
  EXPECT_NEAR(first(record, "switch_phi"), (95.0 * 90 - 5 * 10) / std::sqrt(1e4 * 105 * 95), 1e-12);
  EXPECT_EQ(first(record, "switch_soft"), 105.0 / 200);
  EXPECT_EQ(first(record, "switch_premise"), 1);
  EXPECT_EQ(first(record, "switch_violations"), 0);
  EXPECT_EQ(first(record, "switch_reasons", 2), 5);
  EXPECT_EQ(first(record, "switch_table", 4), 95);  // second epsilon
  EXPECT_EQ(first(record, "switch_table", 7), 90);
  EXPECT_EQ(first(record, "values_full_rank"), 0);
}

TEST(Switch, NearMisses) {
  EXPECT_EQ(first(measure_heads({head(100, 94, {94, 0, 6, 0})}), "switch_verdict"), 2);
  EXPECT_EQ(first(measure_heads({head(100, 49, {49, 3, 20, 28})}), "switch_verdict"), 5);
  EXPECT_EQ(first(measure_heads({head(100, 49, {49, 3, 28, 20})}), "switch_verdict"), 4);
  EXPECT_EQ(first(measure_heads({head(100, 20, {20, 60, 10, 10})}), "switch_verdict"), 3);
  RoutingValues broken = head(100, 100, {100, 0, 0, 0});
  broken.violations = 1;
  EXPECT_EQ(first(measure_heads({broken}), "switch_verdict"), 2);
  const Record few = measure_heads({head(99, 99, {99, 0, 0, 0})});
  EXPECT_TRUE(std::isnan(first(few, "switch_verdict")));
  EXPECT_TRUE(std::isnan(first(few, "switch_layer_verdict")));
}

TEST(Switch, HeadsOfALayerAddUp) {
  const Record record = measure_heads({head(60, 60, {60, 0, 0, 0}), head(60, 30, {30, 0, 30, 0})});
  EXPECT_TRUE(std::isnan(first(record, "switch_verdict")));
  EXPECT_EQ(first(record, "switch_layer_sink_given_off"), 0.75);
  EXPECT_EQ(first(record, "switch_layer_verdict"), 2);
  EXPECT_EQ(first(record, "switch_layer_reasons"), 90);
  EXPECT_EQ(first(record, "switch_layer_reasons", 2), 30);
}

TEST(Switch, WithoutQueriesOrAMarginThereIsNoData) {
  const Record record = measure_heads({RoutingValues{}});
  EXPECT_EQ(first(record, "switch_queries"), 0);
  EXPECT_TRUE(std::isnan(first(record, "switch_dormant")));
  EXPECT_TRUE(std::isnan(first(record, "switch_margin")));
  EXPECT_TRUE(std::isnan(first(record, "switch_violations")));
  EXPECT_TRUE(std::isnan(first(record, "switch_layer_sink_given_off")));
  RoutingValues outside = head(100, 100, {100, 0, 0, 0});
  outside.values.sink_inside = false;
  EXPECT_EQ(first(measure_heads({outside}), "switch_premise"), 0);
  EXPECT_EQ(first(measure_heads({outside}), "switch_half_space"), 1);
  RoutingValues full = head(100, 100, {100, 0, 0, 0});
  full.values.count = 60;
  EXPECT_EQ(first(measure_heads({full}), "values_full_rank"), 1);
}

}  // namespace
}  // namespace sinkscope::diagnostics
