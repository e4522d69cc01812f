#include <gtest/gtest.h>

#include <cmath>

#include "sinkscope/stats/smoothing_values.h"
#include "tests/diagnostics/planted.h"

namespace sinkscope::diagnostics {
namespace {

std::vector<double> line(double from, double to) {
  std::vector<double> values;
  for (const double lambda : stats::kLambdas) values.push_back(from + lambda * (to - from));
  return values;
}

/// A head whose cosine goes from `from` to `to`, predicted exactly, with s = `scalar`.
stats::SmoothingValues head(double from, double to, double scalar) {
  stats::SmoothingValues value;
  value.left_out = 2;
  value.shared_key = 7;
  value.skip.rest = {line(from, to), from, from};
  value.skip.all = {line(from / 2, to / 2), from / 2, from / 2};
  value.skip.predicted = line(from, to);
  value.skip.moments = {1, (scalar - 1) / 2, 1, 0.5};
  value.alone.rest = {line(0, 1), 0.3, 1};
  return value;
}

Record measure_heads(const std::vector<stats::SmoothingValues>& heads) {
  LayerInput input;
  input.heads.resize(heads.size());
  for (size_t h = 0; h < heads.size(); ++h) input.heads[h].smoothing = &heads[h];
  return test::run_layer(input, static_cast<int>(heads.size()));
}

TEST(SmoothingDiagnostic, ClassesOfHeadsAndSharesOfTheLayer) {
  // Smoothing, its near miss, counteracted, its near miss.
  const Record record = measure_heads(
      {head(0.4, 0.411, 1), head(0.4, 0.409, 1), head(0.4, 0.38, -1), head(0.4, 0.391, -1)});
  const auto classes = record.find("smooth_class", 0);
  EXPECT_EQ(std::vector(classes.begin(), classes.end()), (std::vector<double>{1, 0, -1, 0}));
  EXPECT_EQ(record.find("smooth_share_up", 0)[0], 0.25);
  EXPECT_EQ(record.find("smooth_share_down", 0)[0], 0.25);
  EXPECT_NEAR(record.find("smooth_delta", 0)[2], -0.02, 1e-15);
  EXPECT_EQ(record.find("smooth_left_out", 0)[0], 2);
  EXPECT_EQ(record.find("smooth_left_out_key", 0)[0], 7);
}

TEST(SmoothingDiagnostic, CurvesStandInTheirPlaces) {
  const Record record = measure_heads({head(0.4, 0.5, 1), head(0.1, 0.9, 1)});
  ASSERT_EQ(record.find("smooth_cos", 0).size(), 22u);
  EXPECT_DOUBLE_EQ(record.find("smooth_cos", 0)[11], 0.1);
  EXPECT_DOUBLE_EQ(record.find("smooth_cos", 0)[21], 0.9);
  EXPECT_DOUBLE_EQ(record.find("smooth_cos_all", 0)[21], 0.45);
  EXPECT_DOUBLE_EQ(record.find("smooth_alone", 0)[10], 1);
  EXPECT_DOUBLE_EQ(record.find("smooth_actual", 0)[4], 0.3);
  EXPECT_DOUBLE_EQ(record.find("smooth_sink", 0)[1], 1);
  EXPECT_TRUE(std::isnan(record.find("smooth_normed", 0)[0]));
  EXPECT_TRUE(std::isnan(record.find("smooth_normed_delta", 0)[0]));
  EXPECT_TRUE(std::isnan(record.find("smooth_actual", 0)[2]));
}

TEST(SmoothingDiagnostic, SignsAndErrorsAgainstThePrediction) {
  stats::SmoothingValues off = head(0.4, 0.5, -1);  // predicted to fall, but rises
  off.skip.predicted[3] -= 0.07;
  const Record record = measure_heads({head(0.4, 0.5, 1), off, head(0.4, 0.3, -1)});
  const auto sign = record.find("smooth_sign", 0);
  EXPECT_EQ(std::vector(sign.begin(), sign.end()), (std::vector<double>{1, 0, 1}));
  EXPECT_NEAR(record.find("smooth_share_sign", 0)[0], 2.0 / 3, 1e-15);
  EXPECT_NEAR(record.find("smooth_error", 0)[1], 0.07, 1e-15);
  EXPECT_EQ(record.find("smooth_s", 0)[1], -1);
  EXPECT_EQ(record.find("smooth_peak", 0)[0], 1);  // C = 0
  EXPECT_EQ(record.find("smooth_peak", 0)[1], 0);  // C = -E
}

TEST(SmoothingDiagnostic, SparseHeadsStayNearIdentityOrSink) {
  stats::SmoothingValues sparse = head(0.4, 0.5, 1), sink = sparse, dense = sparse;
  sparse.skip.rest.actual = 0.44, sparse.skip.rest.sink = 0.7;
  sink.skip.rest.actual = 0.6, sink.skip.rest.sink = 0.65;
  dense.skip.rest.actual = 0.46, dense.skip.rest.sink = 0.7;
  EXPECT_EQ(measure_heads({sparse}).find("smooth_share_sparse", 0)[0], 1);
  EXPECT_EQ(measure_heads({sink}).find("smooth_share_sparse", 0)[0], 1);
  EXPECT_EQ(measure_heads({dense}).find("smooth_share_sparse", 0)[0], 0);
}

TEST(SmoothingDiagnostic, OneTokenHasNoData) {
  stats::SmoothingValues value = head(kNoData, kNoData, 1);
  const Record record = measure_heads({value});
  EXPECT_TRUE(std::isnan(record.find("smooth_class", 0)[0]));
  EXPECT_TRUE(std::isnan(record.find("smooth_s", 0)[0]));
  EXPECT_TRUE(std::isnan(record.find("smooth_share_up", 0)[0]));
  EXPECT_TRUE(std::isnan(record.find("smooth_share_sparse", 0)[0]));
}

}  // namespace
}  // namespace sinkscope::diagnostics
