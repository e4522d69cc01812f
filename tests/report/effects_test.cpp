#include "sinkscope/report/effects.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

namespace sinkscope::report {
namespace {

using store::Effect;

Effect effect(const char* name, int64_t layer, int64_t head, int64_t sequence, double change,
              int64_t key = 0) {
  Effect e;
  e.intervention = name;
  e.layer = layer, e.head = head, e.sequence = sequence, e.key = key;
  e.loss_base = 3, e.loss = 3 + change, e.kl = 0.5, e.top1 = 0.25;
  return e;
}

std::unique_ptr<store::EffectStore> sample() {
  auto store = store::EffectStore::in_memory(
      {{"ablate.interventions", "[\"zero-head\",\"mask-p0\"]"}, {"ablate.key", "\"sink\""}});
  const Effect effects[] = {effect("zero-head", 0, 1, 0, 1.0), effect("zero-head", 0, 1, 1, 3.0, 2),
                            effect("zero-head", 1, 0, 0, -0.02),
                            effect("mask-p0", -1, -1, 0, 0.5, -1)};
  store->put(effects);
  store->put_fact("model.layers", "2");
  store->put_fact("model.heads", "2");
  store->put_fact("model.path", "\"models/tiny\\u001b[31m.gguf\"");
  return store;
}

TEST(EffectRows, MeanAndStandardErrorArePaired) {
  const auto rows = summarise_effects(sample()->effects());
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].intervention, "zero-head");
  EXPECT_EQ(rows[1].sequences, 2);
  EXPECT_NEAR(rows[1].loss_change, 2, 1e-12);
  EXPECT_NEAR(rows[1].loss_change_sem, 1, 1e-12);  // sd sqrt(2) of two, over sqrt(2)
  EXPECT_EQ(rows[1].key, 0);                       // a tie: the lowest
  EXPECT_TRUE(std::isnan(rows[2].loss_change_sem));
}

TEST(EffectRows, JsonHasNullWhereThereIsNothing) {
  std::ostringstream out;
  write_effects_json(*sample(), out);
  const auto document = nlohmann::json::parse(out.str());
  EXPECT_EQ(document["schema"], "sinkscope.ablate/1");
  EXPECT_EQ(document["settings"]["key"], "sink");
  const auto& mask = document["rows"][0];
  EXPECT_EQ(mask["intervention"], "mask-p0");
  EXPECT_TRUE(mask["layer"].is_null());
  EXPECT_TRUE(mask["key"].is_null());
  EXPECT_TRUE(mask["donor_cosine"].is_null());
  EXPECT_NEAR(mask["perplexity_ratio"].get<double>(), std::exp(0.5), 1e-12);
}

TEST(EffectRows, CsvHasALinePerSequence) {
  std::ostringstream out;
  write_effects_csv(*sample(), out);
  EXPECT_NE(out.str().find("mask-p0,,,0,,3,3.5,0.5,0.25,"), std::string::npos);
  EXPECT_NE(out.str().find("zero-head,0,1,1,2,3,6,"), std::string::npos);
}

/// As of a task whose outputs are vectors: losses, no distributions.
std::unique_ptr<store::EffectStore> sample_of_vectors() {
  auto store = store::EffectStore::in_memory({{"ablate.interventions", "[\"all\"]"}});
  Effect a = effect("zero-sink-value", 0, 0, 0, 1.0, 5),
         b = effect("zero-sink-value", 0, 0, 1, 2.0, 5),
         block = effect("zero-attention", 0, -1, 0, 0.5, -1);
  for (Effect* e : {&a, &b, &block}) e->kl = e->top1 = diagnostics::kNoData;
  a.change_using = 3, b.change_using = 1;
  a.donor_cosine = 0.5, b.donor_cosine = 0.75;
  const Effect effects[] = {a, b, block};
  store->put(effects);
  return store;
}

TEST(EffectRows, ChangesAddUpAsSquaresAndCosinesAsTheyAre) {
  const auto rows = summarise_effects(sample_of_vectors()->effects());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_NEAR(mean_of(rows[1], &Effect::change_using), std::sqrt(5), 1e-12);
  EXPECT_NEAR(mean_of(rows[1], &Effect::donor_cosine), 0.625, 1e-12);
  EXPECT_TRUE(are_squared_errors(rows));
  EXPECT_FALSE(are_squared_errors(summarise_effects(sample()->effects())));
}

TEST(EffectRows, SquaredErrorsAreNotCalledNats) {
  std::ostringstream out;
  write_effects_json(*sample_of_vectors(), out);
  const auto document = nlohmann::json::parse(out.str());
  EXPECT_EQ(document["metrics"][0]["unit"], "squared error");
  EXPECT_TRUE(document["rows"][0]["perplexity_ratio"].is_null());
  EXPECT_TRUE(document["rows"][0]["head"].is_null());
  EXPECT_EQ(document["rows"][0]["layer"], 0);
  std::ostringstream plain;
  write_effects_json(*sample(), plain);
  EXPECT_EQ(nlohmann::json::parse(plain.str())["metrics"][0]["unit"], "nats");
}

TEST(EffectRows, TheTerminalShowsEveryRowOfAVectorTask) {
  std::ostringstream out;
  write_effects_terminal(*sample_of_vectors(), {}, out);
  const std::string text = out.str();
  EXPECT_NE(text.find("L0H0 zero-sink-value 5 "), std::string::npos) << text;
  EXPECT_NE(text.find("2.24"), std::string::npos) << text;
  EXPECT_NE(text.find("L0 zero-attention "), std::string::npos) << text;
  EXPECT_EQ(text.find("nats"), std::string::npos) << text;
  EXPECT_EQ(text.find("H-1"), std::string::npos) << text;
}

TEST(EffectRows, TheTerminalNamesTheDearestHeadAndDrawsTheMap) {
  std::ostringstream out;
  TerminalOptions options;
  options.ascii = true;
  write_effects_terminal(*sample(), options, out);
  const std::string text = out.str();
  EXPECT_NE(text.find("L0H1 zero-head"), std::string::npos);
  EXPECT_NE(text.find("      0    # "), std::string::npos) << text;
  EXPECT_NE(text.find("      1  :-"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);  // a path's control bytes are data
}

}  // namespace
}  // namespace sinkscope::report
