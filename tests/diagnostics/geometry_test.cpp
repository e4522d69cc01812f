#include <gtest/gtest.h>

#include <cmath>

#include "sinkscope/stats/geometry_values.h"
#include "tests/diagnostics/planted.h"

namespace sinkscope::diagnostics {
namespace {

stats::GeometryValues planted() {
  stats::GeometryValues values;
  values.queries = {1, 0.7, 1e-9};
  values.leads = {1, 1.5, 1e-8};
  values.used = 20, values.available = 40;
  return values;
}

Record measure_geometry(const stats::GeometryValues& values) {
  LayerInput input;
  input.geometry = &values;
  input.heads.resize(2);
  input.heads[1].geometry = &values;  // head 0 was left out
  return test::run_layer(input, 2);
}

TEST(Geometry, ALayerAndAHeadThatCanHoldASink) {
  const Record record = measure_geometry(planted());
  EXPECT_EQ(record.find("h1", 0)[0], 1);
  EXPECT_EQ(record.find("h2", 0)[0], 1);
  EXPECT_EQ(record.find("representable", 0)[0], 1);
  EXPECT_EQ(record.find("margin_z", 0)[0], 0.7);
  EXPECT_EQ(record.find("margin_d", 0)[0], 1.5);
  EXPECT_EQ(record.find("geometry_gap", 0)[0], 1e-8);
  EXPECT_EQ(record.find("geometry_tokens", 0)[0], 20);
  EXPECT_EQ(record.find("geometry_share", 0)[0], 0.5);
  EXPECT_EQ(record.find("sink_duplicates", 0)[0], 0);
  EXPECT_EQ(record.find("head_margin_q", 0)[1], 0.7);
  EXPECT_EQ(record.find("head_margin_k", 0)[1], 1.5);
  EXPECT_EQ(record.find("head_representable", 0)[1], 1);
  EXPECT_TRUE(std::isnan(record.find("head_h1", 0)[0]));
}

TEST(Geometry, NearMissOneConditionAlone) {
  stats::GeometryValues values = planted();
  values.queries = {0, 0, 0};
  EXPECT_EQ(measure_geometry(values).find("h1", 0)[0], 1);
  EXPECT_EQ(measure_geometry(values).find("representable", 0)[0], 0);
  values.leads = {};  // undecided
  EXPECT_EQ(measure_geometry(values).find("representable", 0)[0], 0);
  values.queries = planted().queries;
  EXPECT_TRUE(std::isnan(measure_geometry(values).find("representable", 0)[0]));
  EXPECT_TRUE(std::isnan(measure_geometry(values).find("margin_d", 0)[0]));
}

TEST(Geometry, OneTokenHasNoData) {
  const Record record = measure_geometry({});
  for (const char* metric : {"h1", "h2", "representable", "margin_z", "margin_d", "geometry_gap",
                             "geometry_share", "sink_duplicates"}) {
    EXPECT_TRUE(std::isnan(record.find(metric, 0)[0])) << metric;
  }
  EXPECT_EQ(record.find("geometry_tokens", 0)[0], 0);
  EXPECT_TRUE(std::isnan(record.find("head_representable", 0)[1]));
}

}  // namespace
}  // namespace sinkscope::diagnostics
