// Each task against its definition in method.md section 16, token by token.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "sinkscope/base/error.h"
#include "sinkscope/train/task.h"
#include "sinkscope/train/tasks/bigram.h"

namespace sinkscope::train {
namespace {

std::unique_ptr<Task> task(const char* name, const std::string& settings) {
  return make_task(name, io::Config::parse(settings, "test"));
}

double largest(const at::Tensor& t) { return t.abs().max().item<double>(); }

TEST(ConditionalDamping, OutputFormKeepsUnalignedTokensAndRemovesTheRest) {
  const Batch b = task("conditional-damping", "{}")->batch(Purpose::kTraining, 5, 64);
  EXPECT_EQ(largest(b.vectors.select(1, 0)), 0);  // the dedicated token
  for (const auto& [kind, target] : {std::pair(0, b.vectors), {1, at::zeros_like(b.vectors)}}) {
    const at::Tensor chosen = b.kinds.eq(kind).unsqueeze(-1);
    EXPECT_EQ(largest((b.target - target) * chosen), 0) << kind;
  }
  EXPECT_NEAR(b.kinds.slice(1, 1).to(at::kFloat).mean().item<double>(), 0.5, 0.05);
  EXPECT_TRUE(b.kinds.select(1, 0).eq(kNotCounted).all().item<bool>());
}

TEST(ConditionalDamping, BranchFormAsksForNoUpdateOfAlignedTokens) {
  const Batch b = task("conditional-damping", R"({"nop_target": "branch", "gamma": 0.25})")
                      ->batch(Purpose::kTraining, 5, 64);
  const at::Tensor update = b.target - b.vectors;
  EXPECT_LT(largest((update - 0.25 * b.vectors) * b.kinds.eq(0).unsqueeze(-1)), 1e-6);
  EXPECT_LT(largest((update - b.vectors) * b.kinds.eq(1).unsqueeze(-1)), 1e-6);
}

TEST(ConditionalDamping, EverySeedHidesTheSamePartOfItsDirectionFromTheNorm) {
  for (const int seed : {0, 1, 2}) {
    const Batch b = task("conditional-damping", R"({"seed": )" + std::to_string(seed) + "}")
                        ->batch(Purpose::kEvaluation, 0, 8192);
    const at::Tensor x = b.vectors.slice(1, 1).reshape({-1, 64});
    const at::Tensor m = b.kinds.slice(1, 1).reshape({-1}).to(at::kFloat);
    // E (m - 1/2) x = g / sqrt(2 pi) at frequency 1/2; its entries have an error of 0.001.
    const at::Tensor g = at::matmul(x.t(), m - 0.5) / static_cast<double>(x.size(0)) *
                         std::sqrt(2 * std::numbers::pi);
    EXPECT_NEAR(g.norm().item<double>(), 1, 0.01) << seed;
    EXPECT_NEAR(g.sum().item<double>() / 8, 1.0 / 32, 0.01) << seed;
  }
}

TEST(ConditionalDamping, FrequencyIsTheShareOfAlignedTokens) {
  for (const double p : {0.1, 0.9}) {
    const Batch b = task("conditional-damping", R"({"frequency": )" + std::to_string(p) + "}")
                        ->batch(Purpose::kTraining, 0, 256);
    EXPECT_NEAR(b.kinds.slice(1, 1).to(at::kFloat).mean().item<double>(), p, 0.02);
  }
}

TEST(GlobalBroadcast, EveryTokenReceivesTheSameRotatedPayload) {
  const Batch b = task("global-broadcast", "{}")->batch(Purpose::kEvaluation, 0, 16);
  const at::Tensor payload = b.target - b.vectors;
  EXPECT_LT(largest(payload - payload.narrow(1, 0, 1)), 2e-6);
  for (int64_t i = 0; i < 16; ++i) {
    const at::Tensor chosen = b.vectors[i][b.keys[i].item<int64_t>()];
    EXPECT_NEAR(payload[i][0].norm().item<double>(), chosen.norm().item<double>(), 1e-4);
  }
}

TEST(Batches, DependOnSeedPurposeAndNumberAlone) {
  for (const char* name :
       {"conditional-damping", "global-broadcast", "bigram-backcopy", "copy-paste"}) {
    const auto one = task(name, "{}"), other = task(name, R"({"seed": 1})");
    const auto data = [](const Batch& b) { return b.vectors.defined() ? b.vectors : b.ids; };
    const at::Tensor first = data(one->batch(Purpose::kTraining, 3, 4));
    EXPECT_TRUE(at::equal(first, data(one->batch(Purpose::kTraining, 3, 4)))) << name;
    EXPECT_TRUE(at::equal(first, data(one->batch(Purpose::kTraining, 3, 9)).narrow(0, 0, 4)));
    EXPECT_FALSE(at::equal(first, data(one->batch(Purpose::kTraining, 4, 4)))) << name;
    EXPECT_FALSE(at::equal(first, data(one->batch(Purpose::kEvaluation, 3, 4)))) << name;
    EXPECT_FALSE(at::equal(first, data(other->batch(Purpose::kTraining, 3, 4)))) << name;
    const nlohmann::json settings = one->settings();
    const auto again = task(name, settings.dump());
    EXPECT_TRUE(at::equal(first, data(again->batch(Purpose::kTraining, 3, 4)))) << name;
    EXPECT_EQ(nlohmann::json(again->settings()), settings) << name;
  }
}

/// Walks every sequence and checks the rule by which each token follows.
void check_backcopy(const Task& task, int64_t offset) {
  const Batch b = task.batch(Purpose::kTraining, 0, 64);
  const nlohmann::json settings = task.settings();
  const int64_t symbols = settings["symbols"], tokens = settings["tokens"];
  const std::vector<int64_t> triggers = settings["triggers"];
  const auto is_trigger = [&](int64_t x) {
    return std::find(triggers.begin(), triggers.end(), x) != triggers.end();
  };
  int64_t copies = 0;
  for (int64_t i = 0; i < 64; ++i) {
    const int64_t* ids = b.ids[i].data_ptr<int64_t>();
    EXPECT_EQ(ids[0], symbols);
    EXPECT_FALSE(is_trigger(ids[1]));
    for (int64_t t = 1; t < tokens; ++t) {
      const int64_t next = b.target[i][t].item<int64_t>();
      const bool copied = is_trigger(ids[t]) && t - offset >= 1;
      EXPECT_EQ(b.kinds[i][t].item<int64_t>(), copied ? 1 : 0);
      if (copied) {
        EXPECT_EQ(next, ids[t - offset]);
        ++copies;
      }
      if (t + 1 < tokens) {
        EXPECT_EQ(next, ids[t + 1]);
      }
    }
  }
  EXPECT_GT(copies, 50);
}

TEST(BigramBackcopy, CopiesBehindTriggersAndNowhereElse) {
  check_backcopy(*task("bigram-backcopy", "{}"), 1);
  check_backcopy(*task("bigram-backcopy", R"({"offset": 3})"), 3);
}

TEST(BigramBackcopy, TriggersAreTheMostFrequentSymbols) {
  const Bigram table = text_bigram("aaaa bb aab a ba, bcd", "test");
  EXPECT_EQ(table.symbols(), 6);  // space , a b c d
  EXPECT_NEAR(table.unigram[2], 8.0 / 21, 1e-12);
  EXPECT_NEAR(table.next[4][5], 1, 1e-12);  // d follows every c
  EXPECT_NEAR(table.next[5][2], 1, 1e-12);  // the end is followed by the start
  EXPECT_NEAR(table.entropy_after(4), 0, 1e-12);
}

TEST(BigramBackcopy, OracleOfTheRandomTableIsTheEntropyOfItsRows) {
  const auto made = task("bigram-backcopy", "{}");
  // 8 successors with weights 0.1 + uniform: ln 8 less about var / (2 mean^2) = 0.116.
  EXPECT_NEAR(made->kinds()[0].oracle, std::log(8.0) - 0.116, 0.03);
  EXPECT_EQ(made->kinds()[1].oracle, 0);
  const Bigram table = random_bigram(32, 8, 1);
  EXPECT_EQ(
      std::count_if(table.next[3].begin(), table.next[3].end(), [](double p) { return p > 0; }), 8);
}

TEST(BigramBackcopy, ThePublishedRecipeReadsTheShippedText) {
  const auto made = task("bigram-backcopy", R"({"paper": true})");
  const nlohmann::ordered_json settings = made->settings();
  std::string triggers;
  for (const auto& id : settings["triggers"]) triggers += made->label(id.get<int64_t>());
  EXPECT_EQ(triggers, " et");  // method.md 16.3
  const auto random = task("bigram-backcopy", R"({"paper": true, "symbols": 32})");
  EXPECT_EQ(random->label(0), "0");
}

TEST(CopyPaste, ActivePositionsFetchAnEarlierTokenAndTheOthersNothing) {
  const auto made = task("copy-paste", "{}");
  const Batch b = made->batch(Purpose::kTraining, 0, 8);
  const at::Tensor update = b.target - b.vectors;
  for (int64_t t = 1; t < 32; ++t) {
    const at::Tensor wanted = update.select(1, t);
    if (b.kinds[0][t].item<int64_t>() == 0) {
      EXPECT_EQ(largest(wanted), 0) << t;
      continue;
    }
    int64_t sources = 0;
    for (int64_t s = 1; s < t; ++s) sources += largest(wanted - b.vectors.select(1, s)) < 1e-6;
    EXPECT_EQ(sources, 1) << t;
  }
}

TEST(Tasks, RefuseSettingsOutOfRangeByName) {
  try {
    task("conditional-damping", R"({"frequency": 2})");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::kUsage);
    EXPECT_NE(error.seen.find("frequency"), std::string::npos);
  }
  EXPECT_THROW(task("bigram-backcopy", R"({"text": "/no/such/file"})"), Error);
  EXPECT_THROW(task("conditional-damping", R"({"gamma": 0.5})"),
               Error);  // the output form has none
  EXPECT_THROW(task("no-such-task", "{}"), Error);
}

}  // namespace
}  // namespace sinkscope::train
