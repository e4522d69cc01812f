// The configuration of a lab model: reading what was written gives the same facts.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sinkscope/model/families/lab.h"
#include "tests/forward/lab_model.h"
#include "tests/io/files.h"

namespace sinkscope::model {
namespace {

using forward::test::lab_cases;
using forward::test::lab_spec;
using forward::test::LabCase;

ModelSpec read(const nlohmann::ordered_json& config) {
  return kLab.read_config(io::Config::parse(config.dump(), "config.json"));
}

/// Every fact that a lab model may have; none where both are equal.
std::vector<std::string> differences(const ModelSpec& a, const ModelSpec& b) {
  std::vector<std::string> found;
#define COMPARE(field) (a.field == b.field) ? void() : found.push_back(#field)
  COMPARE(family), COMPARE(layers), COMPARE(heads), COMPARE(kv_heads), COMPARE(width);
  COMPARE(head_width), COMPARE(vocabulary), COMPARE(mlp_width), COMPARE(context), COMPARE(causal);
  COMPARE(form), COMPARE(blocks.size()), COMPARE(norm), COMPARE(norm_epsilon);
  COMPARE(parallel_norms), COMPARE(plain_norms), COMPARE(branch_input_norms), COMPARE(final_norm);
  COMPARE(positions), COMPARE(ropes.size()), COMPARE(position_offset), COMPARE(vectors);
  COMPARE(first_token), COMPARE(embed_width), COMPARE(embed_scale), COMPARE(embed_norm);
  COMPARE(token_types), COMPARE(score_scale), COMPARE(score_softcap), COMPARE(sink_logits);
  COMPARE(scores.kind), COMPARE(scores.stretch_low), COMPARE(scores.stretch_high);
  COMPARE(scores.bias), COMPARE(extra_key), COMPARE(extra_value), COMPARE(qk_norm);
  COMPARE(qkv_clip), COMPARE(attention_gate), COMPARE(output_gate), COMPARE(key_gate);
  COMPARE(value_gate), COMPARE(pathway), COMPARE(attention_bias), COMPARE(output_bias);
  COMPARE(branch_norms), COMPARE(layer_scale), COMPARE(residual_scale), COMPARE(split_channels);
  COMPARE(activation), COMPARE(mlp), COMPARE(gated_mlp), COMPARE(mlp_bias), COMPARE(experts.count);
  COMPARE(readout), COMPARE(pooler), COMPARE(tied_head), COMPARE(head_bias), COMPARE(logit_scale);
  COMPARE(logit_softcap), COMPARE(classes), COMPARE(vision.patch), COMPARE(notes);
#undef COMPARE
  return found;
}

class LabConfig : public testing::TestWithParam<LabCase> {};
INSTANTIATE_TEST_SUITE_P(All, LabConfig, testing::ValuesIn(lab_cases()),
                         [](const auto& info) { return info.param.name; });

TEST_P(LabConfig, IsReadBackInEveryFact) {
  const ModelSpec& spec = GetParam().spec;
  EXPECT_EQ(differences(read(lab_config(spec)), spec), std::vector<std::string>{});
  EXPECT_TRUE(is_known(io::Config::parse(lab_config(spec).dump(), "config.json")));
}

TEST(LabConfigs, CasesDifferFromEachOther) {
  const std::vector<LabCase> cases = lab_cases();
  for (size_t i = 0; i < cases.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      EXPECT_NE(lab_config(cases[i].spec), lab_config(cases[j].spec)) << cases[i].name;
    }
  }
}

TEST(LabConfigs, PartsThatDoNotGoTogetherAreRefused) {
  const auto refused = [](int64_t vocabulary, nlohmann::json more) {
    nlohmann::ordered_json config = lab_config(lab_spec(vocabulary));
    config.update(more);
    try {
      read(config);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, ErrorKind::kUnsupported);
      return error.seen;
    }
    return std::string("accepted");
  };
  const auto holds = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(holds(refused(20, {{"attention_scores", "relu"}, {"sink_logits", true}}), "softmax"));
  EXPECT_TRUE(holds(refused(0, {{"attention_scores", "sigmoid"}, {"extra_key", true}}), "softmax"));
  EXPECT_TRUE(holds(refused(20, {{"sink_logits", true}, {"extra_key", true}}), "both"));
  EXPECT_TRUE(holds(refused(20, {{"extra_value", true}}), "extra_value"));
  EXPECT_TRUE(holds(refused(20, {{"global_pathway", 4}}), "global_pathway"));
  EXPECT_TRUE(holds(refused(20, {{"attention_scores", "hard"}}), "hard"));
  EXPECT_EQ(refused(0, {{"global_pathway", 4}}), "accepted");
  EXPECT_EQ(refused(20, {{"attention_scores", "clipped"}, {"extra_key", true}}), "accepted");
}

}  // namespace
}  // namespace sinkscope::model
