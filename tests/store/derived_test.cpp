#include "sinkscope/store/derived.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sinkscope/base/error.h"
#include "sinkscope/diagnostics/token_type.h"

namespace sinkscope::store {
namespace {

using diagnostics::Aggregate;
using diagnostics::kNoData;
using diagnostics::kTokenTypes;
using diagnostics::MetricInfo;
using diagnostics::Scope;

// clang-format off
constexpr MetricInfo kEvent{"event", Scope::kHead, 1, Aggregate::kMean, "share", ""};
constexpr MetricInfo kType{"sink_type", Scope::kHead, 1, Aggregate::kMode, "", ""};
constexpr MetricInfo kTypeEvents{"type_events", Scope::kLayer, kTokenTypes, Aggregate::kSum, "heads", ""};
constexpr MetricInfo kApplies{"p0_applies", Scope::kLayer, 1, Aggregate::kMean, "share", ""};
constexpr MetricInfo kEntropy{"entropy_norm", Scope::kHead, 1, Aggregate::kMean, "share", ""};
constexpr MetricInfo kHeadSeparation{"p0_separation_head", Scope::kHead, 1, Aggregate::kMean, "", ""};
constexpr MetricInfo kRate{"plain_rate", Scope::kHead, 4, Aggregate::kMean, "share", ""};
constexpr MetricInfo kRatio{"resid_norm_ratio", Scope::kLayer, 1, Aggregate::kMean, "", ""};
constexpr MetricInfo kOverflows{"fp16_overflows", Scope::kLayer, 1, Aggregate::kSum, "entries", ""};
constexpr MetricInfo kOverflowChannel{"fp16_overflow_channel", Scope::kLayer, 1, Aggregate::kMode, "", ""};
// clang-format on

struct Made {
  std::unique_ptr<Store> store = Store::in_memory();
  Made(std::span<const MetricInfo> metrics, int width) {
    store->put_metrics(metrics);
    store->put_fact("model.d_model", std::to_string(width));
  }
  void put(int64_t id, const diagnostics::Record& record, std::vector<RunSum> sums = {}) const {
    const SequenceInfo info{id, "s", 0, {1, 2}};
    const Store::Finished finished{&info, &record};
    store->put_batch({&finished, 1}, {}, sums);
  }
  RunResult read() const { return read_run(*store); }
};

/// Two layers, three heads. Head 0 of layer 0 sinks on type 6 in every sequence, head 1 in every
/// other one on types 6 and 9 in turns, head 2 never; in layer 1 head 0 sinks on type 9.
RunResult habits(int sequences) {
  const Made made({{kEvent, kType, kTypeEvents}}, 2);
  for (int id = 0; id < sequences; ++id) {
    diagnostics::Record record(2, 3);
    const bool odd = id % 2 == 1;
    const double type1 = id % 4 == 1 ? 6 : 9;
    const double events[2][3] = {{1, odd ? 1.0 : 0, 0}, {1, 0, kNoData}};
    const double types[2][3] = {{6, odd ? type1 : kNoData, kNoData}, {9, kNoData, kNoData}};
    for (int layer : {0, 1}) {
      std::copy_n(events[layer], 3, record.values(kEvent, layer).begin());
      std::copy_n(types[layer], 3, record.values(kType, layer).begin());
      const auto counts = record.values(kTypeEvents, layer);
      std::fill(counts.begin(), counts.end(), 0.0);
      for (const double type : types[layer]) {
        if (type >= 0) counts[static_cast<size_t>(type)] += 1;
      }
    }
    made.put(id, record);
  }
  return made.read();
}

TEST(Specialisation, HabitsOfHeads) {
  const RunResult run = habits(40);
  EXPECT_EQ(run.head("habit", 0, 0), 2);
  EXPECT_EQ(run.head("habit", 0, 1), 1);
  EXPECT_EQ(run.head("habit", 0, 2), 0);
  EXPECT_TRUE(std::isnan(run.head("habit", 1, 2)));                // never judged
  EXPECT_DOUBLE_EQ(run.head("event_contrast", 0, 0), 0.75);        // others: 0.5 and 0
  EXPECT_DOUBLE_EQ(run.head("event_contrast", 1, 0), 1);           // the unjudged head is no other
  EXPECT_NEAR(run.head("event_interval", 0, 1, 0), 0.3520, 5e-5);  // 20 of 40
  EXPECT_NEAR(run.head("event_interval", 0, 1, 1), 0.6480, 5e-5);
  EXPECT_EQ(habits(29).head("habit", 0, 0), 3);
}

TEST(Specialisation, TypesOfHeadsAndLayers) {
  const RunResult run = habits(40);
  EXPECT_DOUBLE_EQ(run.head("sink_type_share", 0, 0), 1);
  EXPECT_DOUBLE_EQ(run.head("sink_type_entropy", 0, 0), 0);
  EXPECT_DOUBLE_EQ(run.head("sink_type_share", 0, 1), 0.5);
  EXPECT_NEAR(run.head("sink_type_entropy", 0, 1), std::log(2), 1e-15);
  EXPECT_TRUE(std::isnan(run.head("sink_type_share", 0, 2)));  // no event
  EXPECT_DOUBLE_EQ(run.layer("type_share", 0, 6), 50.0 / 60);
  EXPECT_DOUBLE_EQ(run.layer("type_share", 0, 9), 10.0 / 60);
  EXPECT_DOUBLE_EQ(run.layer("type_share", 1, 9), 1);
  EXPECT_EQ(run.sequence("transition_layer"), 1);
  EXPECT_GT(run.sequence("split_half"), 0.99);
}

TEST(Specialisation, LayersWithoutEventsAreBlank) {
  const Made made({{kEvent, kType, kTypeEvents}}, 2);
  diagnostics::Record record(1, 1);
  record.values(kEvent, 0)[0] = 0;
  record.values(kType, 0);
  const auto counts = record.values(kTypeEvents, 0);
  std::fill(counts.begin(), counts.end(), 0.0);
  made.put(0, record);
  const RunResult run = made.read();
  EXPECT_TRUE(std::isnan(run.layer("type_share", 0, 0)));
  EXPECT_TRUE(std::isnan(run.sequence("transition_layer")));
  EXPECT_TRUE(std::isnan(run.sequence("split_half")));
}

constexpr MetricInfo kCircuit[] = {kApplies, kRate, kRatio};

diagnostics::Record circuit_record() {
  diagnostics::Record record(4, 1);
  for (int layer = 0; layer < 4; ++layer) {
    record.values(kApplies, layer)[0] = 1;
    record.values(kRatio, layer)[0] = 1 + 10 * layer;
    const double rates[4] = {layer == 3 ? 1.0 : 0.0, layer == 2 ? 1.0 : 0.0, 0, 0};
    std::copy_n(rates, 4, record.values(kRate, layer).begin());
  }
  return record;
}

/// One position of three sequences with the unit vectors (1, 0), (0, 1), (1, 0).
std::vector<RunSum> directions(const char* name, int layer) {
  return {{name, layer, {3, 2, 1, 0, 0, 0}}};
}

TEST(Circuit, DirectionsOverInputs) {
  const Made made(kCircuit, 2);
  made.put(0, circuit_record(), directions("direction.resid_post", 2));
  const RunResult run = made.read();
  EXPECT_NEAR(run.layer("consistency_resid_post", 2), std::sqrt(5.0) / 3, 1e-15);
  EXPECT_NEAR(run.layer("direction_cos_resid_post", 2), 1.0 / 3, 1e-15);  // one pair of three
  EXPECT_TRUE(std::isnan(run.layer("consistency_resid_post", 2, 1)));     // no sequence that long
  EXPECT_TRUE(std::isnan(run.layer("consistency_resid_post", 1)));
  EXPECT_FALSE(run.value.contains("consistency_resid_mid"));
  EXPECT_NEAR(run.sequence("p0_cosine"), 1.0 / 3, 1e-15);
  EXPECT_EQ(run.sequence("p0_norm_ratio"), 11);
}

TEST(Circuit, OneInputHasADirectionButNoPair) {
  const Made made(kCircuit, 2);
  made.put(0, circuit_record(), {{"direction.attn_out", 0, {1, 0.6, 0.8}}});
  const RunResult run = made.read();
  EXPECT_DOUBLE_EQ(run.layer("consistency_attn_out", 0), 1);
  EXPECT_TRUE(std::isnan(run.layer("direction_cos_attn_out", 0)));
  EXPECT_EQ(run.value.at("consistency_attn_out")[0].size(), 2u);
  EXPECT_TRUE(std::isnan(run.sequence("p0_cosine")));
}

TEST(Circuit, HeadsOfBlock0ByEvennessAndSeparation) {
  const Made made({{kApplies, kEntropy, kHeadSeparation}}, 2);
  diagnostics::Record record(1, 4);
  record.values(kApplies, 0)[0] = 1;
  const double entropy[] = {0.2, 0.9, 0.5, 0.99}, separation[] = {0.1, 3, 2, kNoData};
  std::copy_n(entropy, 4, record.values(kEntropy, 0).begin());
  std::copy_n(separation, 4, record.values(kHeadSeparation, 0).begin());
  made.put(0, record);
  EXPECT_DOUBLE_EQ(made.read().sequence("p0_separation_rank"), 1);  // the last head is left out
}

TEST(Circuit, PlacementOfTheSink) {
  const Made made(kCircuit, 2);
  made.put(0, circuit_record());
  const RunResult run = made.read();
  EXPECT_EQ(run.sequence("sink_concentration"), 0);
  EXPECT_EQ(run.sequence("sink_displacement"), 0.5);
  EXPECT_EQ(run.sequence("sink_reading"), 0);
}

TEST(Circuit, RunSumsThatDoNotFitAreRefused) {
  const auto refused = [](int width, int layer) {
    const Made made(kCircuit, width);
    made.put(0, circuit_record(), directions("direction.mlp_out", layer));
    try {
      made.read();
      return false;
    } catch (const Error& error) {
      return error.kind == ErrorKind::kBadFile;
    }
  };
  EXPECT_FALSE(refused(2, 3));
  EXPECT_TRUE(refused(3, 3));
  EXPECT_TRUE(refused(-2, 3));
  EXPECT_TRUE(refused(2, 4));
  EXPECT_FALSE(refused(0, 3));  // a run that was stopped before it wrote the width
}

TEST(RangeSummary, FirstLayerThatOverflows) {
  const Made made({{kOverflows, kOverflowChannel}}, 2);
  diagnostics::Record record(3, 1);
  for (int layer = 0; layer < 3; ++layer) {
    record.values(kOverflows, layer)[0] = layer == 0 ? 0 : 2;
    record.values(kOverflowChannel, layer)[0] = layer == 0 ? kNoData : 100 + layer;
  }
  made.put(0, record);
  EXPECT_EQ(made.read().sequence("fp16_first_layer"), 1);
  EXPECT_EQ(made.read().sequence("fp16_first_channel"), 101);
  const Made none({{kOverflows, kOverflowChannel}}, 2);
  record.values(kOverflows, 1)[0] = record.values(kOverflows, 2)[0] = 0;
  none.put(0, record);
  EXPECT_TRUE(std::isnan(none.read().sequence("fp16_first_layer")));
  EXPECT_TRUE(std::isnan(none.read().sequence("fp16_first_channel")));
}

TEST(Derived, AbsentWithoutTheirDiagnostics) {
  const Made made({{kEvent, kRate}}, 2);
  diagnostics::Record record(1, 1);
  record.values(kEvent, 0)[0] = 1;
  record.values(kRate, 0)[0] = 1;
  made.put(0, record);
  const RunResult run = made.read();
  EXPECT_EQ(run.metrics.size(), 2u);
}

}  // namespace
}  // namespace sinkscope::store
