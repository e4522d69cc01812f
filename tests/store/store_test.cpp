#include "sinkscope/store/store.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "sinkscope/base/error.h"
#include "tests/store/sample_run.h"

namespace sinkscope::store {
namespace {

std::unique_ptr<Store> empty_store() {
  auto store = Store::in_memory();
  store->put_metrics(test::kMetrics);
  return store;
}

void expect_equal(const std::vector<double>& a, std::span<const double> b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(b[i])) {
      EXPECT_TRUE(std::isnan(a[i])) << i;
    } else {
      EXPECT_EQ(a[i], b[i]) << i;
    }
  }
}

TEST(Store, GivesBackEveryValueOfEverySequence) {
  const auto store = empty_store();
  test::put_sample(*store, {0, 1});
  test::put_sample(*store, {5});
  EXPECT_EQ(store->finished(), (std::vector<int64_t>{0, 1, 5}));
  for (const int64_t id : {0, 1, 5}) {
    const diagnostics::Record record = test::sample_record(id);
    for (const auto& metric : test::kMetrics) {
      const int layers = metric.scope == diagnostics::Scope::kSequence ? 1 : test::kLayers;
      for (int layer = 0; layer < layers; ++layer) {
        const auto expected = record.find(metric.name, layer);
        const auto values = store->values(metric.name, layer).at(id);
        if (expected.empty()) {
          for (const double value : values) EXPECT_TRUE(std::isnan(value)) << metric.name;
        } else {
          expect_equal(values, expected);
        }
      }
    }
  }
}

TEST(Store, KeepsSequencesAndMetricDefinitions) {
  const auto store = empty_store();
  test::put_sample(*store, {3});
  const auto sequences = store->sequences();
  ASSERT_EQ(sequences.size(), 1u);
  EXPECT_EQ(sequences[0].source, "text 3");
  EXPECT_EQ(sequences[0].start, 192);
  EXPECT_EQ(sequences[0].ids, test::sample_info(3).ids);
  const auto metrics = store->metrics();
  ASSERT_EQ(metrics.size(), std::size(test::kMetrics));
  for (size_t i = 0; i < metrics.size(); ++i) {
    EXPECT_EQ(metrics[i].name, test::kMetrics[i].name);
    EXPECT_EQ(metrics[i].scope, test::kMetrics[i].scope);
    EXPECT_EQ(metrics[i].aggregate, test::kMetrics[i].aggregate);
    EXPECT_EQ(metrics[i].width, test::kMetrics[i].width);
    EXPECT_EQ(metrics[i].definition, test::kMetrics[i].definition);
  }
}

TEST(Store, SourceThatIsNoUtf8IsEscaped) {
  const auto store = empty_store();
  const SequenceInfo info{0, "caf\xE9.txt", 0, {1}};
  const diagnostics::Record record = test::sample_record(0);
  const Store::Finished finished{&info, &record};
  store->put_batch({&finished, 1}, {});
  EXPECT_EQ(store->sequences()[0].source, "caf\\xE9.txt");
}

TEST(Store, CurvesOfLongerSequencesExtendTheSum) {
  const auto store = empty_store();
  const Curve shorter{2, {1, 2, 3, 4}, {2, 1}};
  const Curve longer{3, {10, 20, 30, 40, 50, 60}, {3, 2, 1}};
  store->put_batch({}, {{Curve{}, shorter}});
  store->put_batch({}, {{Curve{}, longer}});
  store->put_batch({}, {{Curve{}, shorter}});
  const auto curves = store->curves();
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves[0].positions, 0);
  EXPECT_EQ(curves[1].positions, 3);
  EXPECT_EQ(curves[1].mass, (std::vector<double>{12, 24, 30, 46, 58, 60}));
  EXPECT_EQ(curves[1].queries, (std::vector<double>{7, 4, 1}));
}

TEST(Store, RunSumsAreAddedByNameAndLayer) {
  const auto store = empty_store();
  EXPECT_TRUE(store->run_sums().empty());
  const std::vector<RunSum> first = {{"b", 1, {1, 2}}, {"a", 4, {0.5}}};
  const std::vector<RunSum> second = {{"b", 1, {10, 20, 30}}, {"b", 0, {7}}};
  store->put_batch({}, {}, first);
  store->put_batch({}, {}, second);
  store->put_batch({}, {}, first);
  const auto sums = store->run_sums();
  ASSERT_EQ(sums.size(), 3u);
  EXPECT_EQ(sums[0].name, "a");
  EXPECT_EQ(sums[0].layer, 4);
  EXPECT_EQ(sums[0].values, (std::vector<double>{1}));
  EXPECT_EQ(sums[1].layer, 0);
  EXPECT_EQ(sums[1].values, (std::vector<double>{7}));
  EXPECT_EQ(sums[2].values, (std::vector<double>{12, 24, 30}));
}

TEST(Store, BatchThatFailsLeavesNothing) {
  const auto store = empty_store();
  test::put_sample(*store, {0});
  EXPECT_THROW(test::put_sample(*store, {1, 2}, [] { throw std::runtime_error("stop"); }),
               std::runtime_error);
  EXPECT_EQ(store->finished(), (std::vector<int64_t>{0}));
  EXPECT_EQ(store->curves()[0].queries[0], 5);
  EXPECT_EQ(store->run_sums()[0].values[0], 1);
  test::put_sample(*store, {1, 2});
  EXPECT_EQ(store->finished(), (std::vector<int64_t>{0, 1, 2}));
}

TEST(Store, OwnMistakesAreNamed) {
  const auto store = empty_store();
  test::put_sample(*store, {0});
  const auto expect_internal = [](auto body, const std::string& word) {
    try {
      body();
      FAIL() << "no error: " << word;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, ErrorKind::kInternal);
      EXPECT_NE(error.seen.find(word), std::string::npos) << error.seen;
    }
  };
  expect_internal([&] { test::put_sample(*store, {0}); }, "sequence 0");
  const auto bare = Store::in_memory();
  expect_internal([&] { test::put_sample(*bare, {0}); }, "metric");
  expect_internal([&] { store->put_batch({}, {{Curve{2, {1, 2, 3}, {1, 1}}}}); }, "2 positions");
}

TEST(Store, FactsAndIdentity) {
  const auto store = Store::in_memory();
  store->set_identity(test::kIdentity);
  store->put_fact("timing.load_s", "1.5");
  store->put_fact("timing.load_s", "2.5");
  EXPECT_EQ(store->identity(), test::kIdentity);
  EXPECT_EQ(store->facts(), (Facts{{"timing.load_s", "2.5"}}));
}

}  // namespace
}  // namespace sinkscope::store
