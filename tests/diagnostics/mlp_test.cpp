#include <gtest/gtest.h>

#include <cmath>

#include "sinkscope/stats/routing_values.h"
#include "tests/diagnostics/planted.h"

namespace sinkscope::diagnostics {
namespace {

/// 10 queries with means of A_ii and A_is, E_out, and R_comm without and with the payload.
stats::RoutingValues head(double self, double sink, double out, double comm, double payload) {
  stats::RoutingValues routing;
  routing.mixing = {.queries = 10,
                    .to_self = 10 * self,
                    .to_sink = 10 * sink,
                    .out = 10 * out,
                    .out_sq = 10 * out * out,
                    .self_sq = 10,
                    .rest_sq = 10 * out * out * comm * comm,
                    .rest_payload_sq = 10 * out * out * payload * payload};
  return routing;
}

/// Heads whose attention is an event (all on key 0) or none (uniform).
Record measure_heads(const std::vector<stats::RoutingValues>& heads, bool event) {
  const stats::AttentionValues attention =
      test::attention_of({event ? PlantedRows::kSinkEven : PlantedRows::kUniform, 64, 1});
  LayerInput input;
  input.heads.resize(heads.size());
  for (size_t h = 0; h < heads.size(); ++h) {
    input.heads[h].routing = &heads[h];
    input.heads[h].attention = &attention;
  }
  return test::run_layer(input, static_cast<int>(heads.size()));
}

std::vector<double> all(const Record& record, std::string_view metric) {
  const auto values = record.find(metric, 0);
  return {values.begin(), values.end()};
}

TEST(Mlp, VerdictsPatternsAndTheirNearMisses) {
  const Record record = measure_heads({head(1, 0, 1, 0, 0), head(0.89, 0.1, 1, 0.11, 0.11),
                                       head(0, 0.9, 0.1, 1, 1), head(0, 0.89, 0.11, 0.1, 0.1)},
                                      false);
  EXPECT_EQ(all(record, "mlp_verdict"), (std::vector<double>{2, 3, 1, 2}));
  EXPECT_EQ(all(record, "mlp_pattern"), (std::vector<double>{1, 3, 2, 3}));
  EXPECT_EQ(record.find("mlp_share_mlp_like", 0)[0], 0.5);
  EXPECT_EQ(record.find("mlp_share_off", 0)[0], 0.25);
  EXPECT_EQ(record.find("mlp_share_communicating", 0)[0], 0.25);
  EXPECT_EQ(record.find("mlp_share_diagonal", 0)[0], 0.25);
  EXPECT_EQ(record.find("mlp_share_sink", 0)[0], 0.25);
  EXPECT_EQ(record.find("mlp_share_mixed", 0)[0], 0.5);
  EXPECT_NEAR(record.find("mlp_out", 0)[3], 0.11, 1e-12);
  EXPECT_NEAR(record.find("head_norm", 0)[0], 4 / 2.21, 1e-12);
}

TEST(Mlp, ThePayloadOfAnEventIsTakenAsConstant) {
  const auto broadcast = head(0, 1, 1, 0.02, 0.99);
  EXPECT_EQ(all(measure_heads({broadcast}, true), "mlp_verdict")[0], 2);
  EXPECT_NEAR(all(measure_heads({broadcast}, true), "mlp_comm")[0], 0.02, 1e-12);
  EXPECT_NEAR(all(measure_heads({broadcast}, true), "mlp_comm_payload")[0], 0.99, 1e-12);
  // Near miss: the same sums where the event rule does not hold.
  EXPECT_EQ(all(measure_heads({broadcast}, false), "mlp_verdict")[0], 3);
  EXPECT_NEAR(all(measure_heads({broadcast}, false), "mlp_comm")[0], 0.99, 1e-12);
}

TEST(Mlp, AZeroUpdateIsOffAndNoQueryIsNoData) {
  stats::RoutingValues zero = head(0.5, 0.5, 0, 0, 0);
  zero.mixing.self_sq = 0;
  const Record record = measure_heads({zero, stats::RoutingValues{}}, false);
  EXPECT_EQ(record.find("mlp_verdict", 0)[0], 1);
  EXPECT_TRUE(std::isnan(record.find("mlp_out", 0)[0]));
  EXPECT_TRUE(std::isnan(record.find("mlp_comm", 0)[0]));
  EXPECT_TRUE(std::isnan(record.find("head_norm", 0)[0]));  // every head writes nothing
  EXPECT_TRUE(std::isnan(record.find("mlp_verdict", 0)[1]));
  EXPECT_EQ(record.find("mlp_share_off", 0)[0], 1);
}

}  // namespace
}  // namespace sinkscope::diagnostics
