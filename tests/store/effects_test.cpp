#include "sinkscope/store/effects.h"

#include <SQLiteCpp/Database.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sinkscope/base/error.h"
#include "tests/support/paths.h"

namespace sinkscope::store {
namespace {

Effect effect(std::string name, int64_t layer, int64_t head, int64_t sequence, double loss) {
  Effect e;
  e.intervention = std::move(name);
  e.layer = layer, e.head = head, e.sequence = sequence;
  e.loss_base = 2, e.loss = loss;
  return e;
}

TEST(Effects, ComeBackAsTheyWerePutInOrder) {
  const auto file = sinkscope::test::scratch_directory("effects") / "a.db";
  const Facts identity = {{std::string(kInterventionsKey), "[\"x\"]"}};
  {
    const auto store = EffectStore::open_or_create(file, identity, false);
    const Effect effects[] = {effect("x", 1, 0, 0, 2.5), effect("x", 0, 3, 1, 3)};
    store->put(effects);
    store->put_fact("warnings", "[]");
  }
  const auto store = EffectStore::open(file);
  const std::vector<Effect> effects = store->effects();
  ASSERT_EQ(effects.size(), 2u);
  EXPECT_EQ(effects[0].layer, 0);
  EXPECT_EQ(effects[0].head, 3);
  EXPECT_EQ(effects[1].loss, 2.5);
  EXPECT_EQ(effects[1].loss_base, 2);
  EXPECT_EQ(effects[1].key, -1);
  EXPECT_TRUE(std::isnan(effects[1].donor_cosine));  // not defined there: no number
  EXPECT_EQ(store->identity(), identity);
  EXPECT_EQ(store->facts().at("warnings"), "[]");
}

TEST(Effects, NoneIsWrittenTwiceAndAnotherRunIsRefused) {
  const auto file = sinkscope::test::scratch_directory("effects-twice") / "a.db";
  const auto store = EffectStore::open_or_create(file, {{"seed", "0"}}, false);
  const Effect one[] = {effect("x", 0, 0, 0, 2)};
  store->put(one);
  EXPECT_THROW(store->put(one), Error);
  EXPECT_EQ(store->effects().size(), 1u);
  EXPECT_THROW(EffectStore::open_or_create(file, {{"seed", "1"}}, false), Error);
}

// As version 4 wrote it: read as it is, and brought up to date by a run that goes on.
TEST(Effects, AStoreOfAnOlderSchemaIsReadAndUpgraded) {
  const auto file = sinkscope::test::scratch_directory("effects-old") / "a.db";
  const Facts identity = {{std::string(kInterventionsKey), "[\"x\"]"}};
  Effect e = effect("x", 0, 0, 0, 3);
  e.rms = 0.5, e.change_using = 0.25, e.sink_pos = 0.125;
  EffectStore::open_or_create(file, identity, false)->put({&e, 1});
  SQLite::Database(file.string(), SQLite::OPEN_READWRITE)
      .exec(
          "ALTER TABLE effect DROP COLUMN change_using; ALTER TABLE effect DROP COLUMN "
          "change_other;"
          "ALTER TABLE effect DROP COLUMN donor_loss; PRAGMA user_version = 4");
  const Effect old = EffectStore::open(file)->effects().at(0);
  EXPECT_EQ(old.rms, 0.5);
  EXPECT_EQ(old.sink_pos, 0.125);
  EXPECT_TRUE(std::isnan(old.change_using));
  const auto store = EffectStore::open_or_create(file, identity, false);
  e.sequence = 1;
  store->put({&e, 1});
  EXPECT_TRUE(std::isnan(store->effects().at(0).change_using));
  EXPECT_EQ(store->effects().at(1).change_using, 0.25);
}

TEST(Effects, EveryMetricHasItsColumn) {
  const auto store = EffectStore::in_memory({});
  Effect e = effect("x", 0, 0, 0, 1);
  double value = 0;
  for (const EffectMetric& metric : effect_metrics()) e.*metric.value = value += 1;
  store->put({&e, 1});
  const std::vector<Effect> back = store->effects();
  value = 0;
  for (const EffectMetric& metric : effect_metrics()) {
    EXPECT_EQ(back[0].*metric.value, value += 1) << metric.name;
  }
}

}  // namespace
}  // namespace sinkscope::store
