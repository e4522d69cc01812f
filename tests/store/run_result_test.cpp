#include "sinkscope/store/run_result.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sinkscope/base/error.h"
#include "sinkscope/store/run_facts.h"
#include "tests/store/sample_run.h"

namespace sinkscope::store {
namespace {

using diagnostics::Aggregate;
using diagnostics::kNoData;
using diagnostics::MetricInfo;
using diagnostics::Scope;

// clang-format off
constexpr MetricInfo kAlpha{"alpha", Scope::kHead, 2, Aggregate::kMean, "share", ""};
constexpr MetricInfo kEvent{"event", Scope::kHead, 1, Aggregate::kMean, "share", ""};
constexpr MetricInfo kRatio{"ratio_out", Scope::kHead, 1, Aggregate::kMean, "", ""};
constexpr MetricInfo kIndex{"sink_index", Scope::kHead, 1, Aggregate::kMode, "", ""};
constexpr MetricInfo kClass{"class", Scope::kHead, 1, Aggregate::kMode, "", ""};
constexpr MetricInfo kTop{"top_activations", Scope::kLayer, 9, Aggregate::kMode, "", ""};
constexpr MetricInfo kCount{"massive_count", Scope::kLayer, 1, Aggregate::kSum, "", ""};
constexpr MetricInfo kLargest{"largest", Scope::kSequence, 1, Aggregate::kMax, "", ""};
// clang-format on
constexpr MetricInfo kAll[] = {kAlpha, kEvent, kRatio, kIndex, kClass, kTop, kCount, kLargest};

/// A run of one layer and one head; `fill` writes the record of each sequence.
template <typename Fill>
RunResult run_of(int sequences, Fill fill) {
  const auto store = Store::in_memory();
  store->put_metrics(kAll);
  for (int id = 0; id < sequences; ++id) {
    const SequenceInfo info{id, "s", 0, {1, 2}};
    diagnostics::Record record(1, 1);
    fill(id, record);
    const Store::Finished finished{&info, &record};
    store->put_batch({&finished, 1}, {});
  }
  return read_run(*store);
}

double aggregated(const MetricInfo& metric, const std::vector<double>& values) {
  return run_of(static_cast<int>(values.size()),
                [&](int id, diagnostics::Record& record) {
                  record.values(metric, 0)[0] = values[static_cast<size_t>(id)];
                })
      .value.at(std::string(metric.name))[0][0];
}

TEST(RunResult, EachRuleLeavesOutNoData) {
  EXPECT_DOUBLE_EQ(aggregated(kAlpha, {1, kNoData, 4}), 2.5);
  EXPECT_DOUBLE_EQ(aggregated(kCount, {1, kNoData, 4}), 5);
  EXPECT_DOUBLE_EQ(aggregated(kLargest, {-3, kNoData, -2}), -2);
  EXPECT_DOUBLE_EQ(aggregated(kIndex, {7, 3, kNoData, 7, 3}), 3);
  EXPECT_TRUE(std::isnan(aggregated(kAlpha, {kNoData, kNoData})));
}

TEST(RunResult, CountsTheSequencesWithData) {
  const RunResult run = run_of(3, [](int id, diagnostics::Record& record) {
    const auto alpha = record.values(kAlpha, 0);
    alpha[0] = 1;
    if (id == 1) alpha[1] = 0.25;
  });
  EXPECT_EQ(run.count.at("alpha")[0], (std::vector<int64_t>{3, 1}));
  EXPECT_DOUBLE_EQ(run.head("alpha", 0, 0, 1), 0.25);
  EXPECT_TRUE(std::isnan(run.head("alpha", 0, 0, 2)));
  EXPECT_TRUE(std::isnan(run.head("alpha", 1, 0)));
  EXPECT_TRUE(std::isnan(run.head("no such metric", 0, 0)));
}

TEST(RunResult, RatiosAreMeansOverTheEventsAlone) {
  const auto fill = [](const std::vector<double>& events) {
    return [events](int id, diagnostics::Record& record) {
      record.values(kEvent, 0)[0] = events[static_cast<size_t>(id)];
      record.values(kRatio, 0)[0] = id == 0 ? 0.1 : 0.7;
    };
  };
  const RunResult some = run_of(3, fill({1, 0, kNoData}));
  EXPECT_DOUBLE_EQ(some.head("ratio_out", 0, 0), 0.1);
  EXPECT_DOUBLE_EQ(some.head("ratio_out_all", 0, 0), 0.5);
  EXPECT_DOUBLE_EQ(some.head("event", 0, 0), 0.5);
  EXPECT_TRUE(std::isnan(run_of(3, fill({0, 0, 0})).head("ratio_out", 0, 0)));
}

TEST(RunResult, ClassIsTheMajorityOfTheEvents) {
  EXPECT_EQ(aggregated(kClass, {0, 0, 0, 1}), 1);  // one event among many without
  EXPECT_EQ(aggregated(kClass, {2, 3, 2, 1}), 2);
  EXPECT_EQ(aggregated(kClass, {3, 1}), 1);  // tie: lowest code
  EXPECT_EQ(aggregated(kClass, {0, 4, kNoData}), 0);
  EXPECT_EQ(aggregated(kClass, {4, 4}), 4);
}

TEST(RunResult, SinkIndexShareCountsTheMostFrequentKey) {
  const RunResult run = run_of(4, [](int id, diagnostics::Record& record) {
    record.values(kIndex, 0)[0] = id == 3 ? kNoData : id == 0 ? 9 : 0;
  });
  EXPECT_DOUBLE_EQ(run.head("sink_index", 0, 0), 0);
  EXPECT_DOUBLE_EQ(run.head("sink_index_share", 0, 0), 2.0 / 3);
}

TEST(RunResult, TopActivationsAreTogetherAndNotMixed) {
  const double tops[3][9] = {{507, 0, 1000, 8, 2, -30, 1, 1, 20},
                             {507, 0, 1200, 3, 1, 40, 8, 2, -35},
                             {507, 0, 1100, 8, 2, -25, 9, 4, 24}};
  const RunResult run = run_of(3, [&](int id, diagnostics::Record& record) {
    std::copy_n(tops[id], 9, record.values(kTop, 0).begin());
  });
  const std::vector<double> expected = {507, 0, 1100, 8, 2, -30, 3, 1, 40};
  EXPECT_EQ(run.value.at("top_activations")[0], expected);
}

TEST(RunResult, MeasuredTellsLayersThatWereLeftOut) {
  const auto store = Store::in_memory();
  store->put_metrics(test::kMetrics);
  test::put_sample(*store, {0});
  const RunResult run = read_run(*store);
  EXPECT_EQ(run.layers, 3);
  EXPECT_EQ(run.heads, 2);
  EXPECT_TRUE(run.measured(0) && run.measured(2) && run.measured(2, 1));
  EXPECT_FALSE(run.measured(1) || run.measured(1, 0) || run.measured(3) || run.measured(0, 2));
}

TEST(RunResult, SizesThatDoNotFitAreRefused) {
  const auto refused = [](const std::string& key, const std::string& value) {
    const auto store = Store::in_memory();
    store->put_metrics(test::kMetrics);
    test::put_sample(*store, {0});
    store->put_fact(key, value);
    try {
      read_run(*store);
      return false;
    } catch (const Error& error) {
      return error.kind == ErrorKind::kBadFile;
    }
  };
  EXPECT_TRUE(refused("model.heads", "3"));
  EXPECT_TRUE(refused("model.layers", "2"));
  EXPECT_TRUE(refused("model.layers", "-1"));
  EXPECT_TRUE(refused("model.layers", "1000000000000"));
  EXPECT_TRUE(refused("model.kv_heads", "-2"));
  EXPECT_TRUE(refused("model.heads", "\"two\""));
  EXPECT_FALSE(refused("model.layers", "60000"));
}

}  // namespace
}  // namespace sinkscope::store
