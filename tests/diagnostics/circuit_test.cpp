#include <gtest/gtest.h>

#include <cmath>

#include "sinkscope/stats/circuit_values.h"
#include "tests/diagnostics/planted.h"

namespace sinkscope::diagnostics {
namespace {

using stats::CircuitValues;
using stats::Site;

constexpr double kNaN = kNoData;

/// Four tokens of one document; every site with the same lengths.
CircuitValues values_with(std::vector<double> norm) {
  CircuitValues values;
  values.starts.assign(norm.size(), false);
  values.starts[0] = true;
  values.norm.fill(norm);
  values.turn.assign(norm.size(), 0.1), values.turn_error.assign(norm.size(), 0.01);
  return values;
}

struct Scanned {
  Record record;
  double operator()(std::string_view metric, int layer = 0, size_t i = 0) const {
    const auto values = record.find(metric, layer);
    return i < values.size() ? values[i] : -12345;
  }
};

/// Layers of one sequence with two heads.
Scanned measure_layers(const std::vector<CircuitValues>& layers) {
  Scanned run{Record(static_cast<int>(layers.size()), 2)};
  const stats::AttentionValues attention;
  const Diagnostic& circuit = find_diagnostic("circuit");
  for (size_t l = 0; l < layers.size(); ++l) {
    LayerInput input;
    input.layer = static_cast<int>(l);
    input.circuit = &layers[l];
    input.heads.resize(2);
    input.heads[0].attention = input.heads[1].attention = &attention;
    circuit.measure_layer(input, {}, run.record);
  }
  circuit.measure_sequence({}, {}, run.record);
  return run;
}

TEST(Circuit, ALongFirstTokenAtEverySite) {
  CircuitValues values = values_with({30, 2, 4, 3});
  values.norm[static_cast<size_t>(Site::kMlpOut)] = {70, 7, 1, 9};
  const Scanned run = measure_layers({values});
  EXPECT_EQ(run("p0_applies"), 1);
  EXPECT_EQ(run("attn_out_norm_median"), 3);
  EXPECT_EQ(run("attn_out_norm_ratio"), 10);
  EXPECT_EQ(run("attn_out_auc"), 1);
  EXPECT_EQ(run("resid_mid_norm_p0"), 30);
  EXPECT_EQ(run("resid_mid_norm_ratio"), 10);
  EXPECT_EQ(run("mlp_out_norm_median"), 7);
  EXPECT_EQ(run("mlp_gain"), 10);
}

// Uniform causal attention over equal values: the same vector everywhere.
TEST(Circuit, NearMissEqualLengthsSeparateNothing) {
  const Scanned run = measure_layers({values_with({2, 2, 2, 2})});
  EXPECT_EQ(run("attn_out_norm_ratio"), 1);
  EXPECT_EQ(run("attn_out_auc"), 0.5);
  EXPECT_EQ(run("mlp_gain"), 1);
}

TEST(Circuit, StartsOfLaterDocumentsAreNotTheRest) {
  CircuitValues values = values_with({10, 1, 10, 1});
  values.starts[2] = true;
  const Scanned run = measure_layers({values});
  EXPECT_EQ(run("attn_out_norm_median"), 1);
  EXPECT_EQ(run("attn_out_auc"), 1);
}

TEST(Circuit, TurnsOfTheFirstTokenAgainstTheRest) {
  CircuitValues values = values_with({1, 1, 1, 1, 1});
  values.turn = {0.01, 0.2, 0.4, 0.005, kNaN};  // the last has no direction
  values.turn_error = {0.001, 0.02, 0.1, 0, kNaN};
  const Scanned run = measure_layers({values});
  EXPECT_EQ(run("turn_p0"), 0.01);
  EXPECT_EQ(run("turn_median"), 0.2);
  EXPECT_DOUBLE_EQ(run("turn_more_share"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(run("turn_error_p0"), 0.1);
  EXPECT_DOUBLE_EQ(run("turn_error_median"), 0.1);
}

TEST(Circuit, SeparationByEachHeadOfBlock0) {
  CircuitValues values = values_with({1, 1, 1});
  values.joined = {6, 2, 2};
  values.joined_without = {{2, 2, 2}, {5, 2, 2}};  // head 0 does nearly all of it
  const Scanned run = measure_layers({values});
  EXPECT_EQ(run("p0_separation"), 3);
  EXPECT_EQ(run("p0_separation_head", 0, 0), 2);
  EXPECT_EQ(run("p0_separation_head", 0, 1), 0.5);
}

CircuitValues writes(int64_t channel, double before, double attention, double mlp,
                     std::vector<double> heads) {
  CircuitValues values = values_with({1, 1});
  values.channel = {channel, before, before + attention + mlp, attention, mlp, std::move(heads)};
  return values;
}

// Planted: the MLP of layer 1 writes a massive channel, attention of layer 2 adds, the MLP of
// layer 3 takes it away. Layer 0 has another channel.
TEST(Circuit, WhoWritesTheMassiveChannel) {
  const Scanned run =
      measure_layers({writes(3, 0, 50, 1, {50, 0}), writes(7, -10, 0, -890, {1, -1}),
                      writes(7, -900, -110, 5, {-100, -10}), writes(7, -1005, 5, 990, {5, 0})});
  EXPECT_EQ(run("p0_channel", 1), 7);
  EXPECT_DOUBLE_EQ(run("p0_write_mlp", 1), 0.89);
  EXPECT_DOUBLE_EQ(run("p0_write_attn", 2), 0.11);
  EXPECT_DOUBLE_EQ(run("p0_write_head", 2, 0), 0.1);
  EXPECT_DOUBLE_EQ(run("p0_write_mlp", 3), -0.99);
  EXPECT_DOUBLE_EQ(run("p0_write_mlp", 2), -0.005);
  EXPECT_TRUE(std::isnan(run("p0_write_mlp", 0)));  // what it adds to channel 7 was not measured
  EXPECT_EQ(run("p0_channel_head", 2, 1), -10);
}

TEST(Circuit, ConeOfNearUniformHeadsAlone) {
  CircuitValues values = values_with({1, 1});
  values.cone = {{0.3, 0.25, 0.7, 0.9}, {}};
  const Scanned run = measure_layers({values});
  EXPECT_EQ(run("cone_cosine"), 0.3);
  EXPECT_EQ(run("cone_intercept"), 0.25);
  EXPECT_EQ(run("cone_slope"), 0.7);
  EXPECT_EQ(run("cone_r2"), 0.9);
  EXPECT_TRUE(std::isnan(run("cone_slope", 0, 1)));
}

TEST(Circuit, EncodersAreSaidToHaveNone) {
  CircuitValues values;
  values.causal = false;
  const Scanned run = measure_layers({values});
  EXPECT_EQ(run("p0_applies"), 0);
  EXPECT_TRUE(std::isnan(run("attn_out_norm_ratio")));
  EXPECT_TRUE(std::isnan(run("p0_channel")));
  EXPECT_TRUE(std::isnan(run("p0_write_mlp")));
}

TEST(Circuit, OneTokenAndZerosHaveNoRatio) {
  const Scanned one = measure_layers({values_with({4})});
  EXPECT_EQ(one("resid_mid_norm_p0"), 4);
  EXPECT_EQ(one("turn_p0"), 0.1);
  for (const char* metric :
       {"attn_out_norm_ratio", "attn_out_auc", "turn_median", "turn_more_share", "mlp_gain"}) {
    EXPECT_TRUE(std::isnan(one(metric))) << metric;
  }
  const Scanned zeros = measure_layers({values_with({0, 0, 0})});
  EXPECT_EQ(zeros("attn_out_auc"), 0.5);
  EXPECT_TRUE(std::isnan(zeros("attn_out_norm_ratio")));
}

TEST(Circuit, HeadsThatWereLeftOutAndLayersNotMeasuredHaveNoData) {
  const CircuitValues values = writes(1, 0, 2, 3, {1, 1});
  Record record(2, 2);
  LayerInput input;
  input.layer = 1;
  input.circuit = &values;
  input.heads.resize(2);
  const Diagnostic& circuit = find_diagnostic("circuit");
  circuit.measure_layer(input, {}, record);
  circuit.measure_sequence({}, {}, record);
  EXPECT_TRUE(std::isnan(record.find("p0_channel_head", 1)[0]));
  EXPECT_DOUBLE_EQ(record.find("p0_write_mlp", 1)[0], 0.6);
  EXPECT_TRUE(record.find("p0_write_mlp", 0).empty());
}

}  // namespace
}  // namespace sinkscope::diagnostics
