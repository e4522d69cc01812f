// What the readers of single families make of their configurations.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sinkscope/model/family.h"
#include "tests/io/files.h"

namespace sinkscope::model {
namespace {

using io::test::expect_error;
using nlohmann::json;

io::Config config_of(const json& document) {
  return io::Config::parse(document.dump(), "config.json");
}

json sizes(const std::string& family, int layers = 4) {
  return {{"model_type", family},     {"hidden_size", 64},
          {"intermediate_size", 24},  {"num_hidden_layers", layers},
          {"num_attention_heads", 4}, {"num_key_value_heads", 2},
          {"vocab_size", 20},         {"head_dim", 16}};
}

json with(json document, const json& more) {
  document.update(more);
  return document;
}

ModelSpec spec_of(const json& document) {
  const io::Config config = config_of(document);
  return find_family(config).read_config(config);
}

std::vector<int64_t> windows(const json& document) {
  std::vector<int64_t> all;
  for (const BlockFacts& block : spec_of(document).blocks) all.push_back(block.window);
  return all;
}

std::vector<int> ropes(const ModelSpec& spec) {
  std::vector<int> all;
  for (const BlockFacts& block : spec.blocks) all.push_back(block.rope);
  return all;
}

using Windows = std::vector<int64_t>;

TEST(Cases, ATT_6_Keys) {
  const json mistral = sizes("mistral");
  EXPECT_EQ(windows(with(mistral, {{"sliding_window", 4}})), (Windows{4, 4, 4, 4}));
  EXPECT_EQ(windows(with(mistral, {{"sliding_window", nullptr}})), (Windows{0, 0, 0, 0}));
  EXPECT_EQ(windows(with(mistral, {{"sliding_window", 0}})), (Windows{0, 0, 0, 0}));
  EXPECT_EQ(windows(mistral), (Windows{4096, 4096, 4096, 4096}));  // the family's default
  const json mixed = {"sliding_attention", "full_attention", "sliding_attention", "full_attention"};
  EXPECT_EQ(windows(with(mistral, {{"sliding_window", 4}, {"layer_types", mixed}})),
            (Windows{4, 0, 4, 0}));
  expect_error(ErrorKind::kBadFile, {"config.json", "sliding_window is -1"}, [&] {
    spec_of(with(mistral, {{"sliding_window", -1}}));
  });
  expect_error(ErrorKind::kBadFile, {"layer_types has 4 entries, the model 3 layers"}, [&] {
    spec_of(with(sizes("mistral", 3), {{"layer_types", mixed}}));
  });
  expect_error(ErrorKind::kUnsupported, {"config.json", "layer_types is \"chunked_attention\""},
               [&] {
                 spec_of(with(sizes("mistral", 1), {{"layer_types", {"chunked_attention"}}}));
               });
}

TEST(Windows, OfTheQwenFamilies) {
  for (const char* family : {"qwen2", "qwen3"}) {
    SCOPED_TRACE(family);
    const json given = with(sizes(family), {{"sliding_window", 8}, {"max_window_layers", 3}});
    EXPECT_EQ(windows(given), (Windows{0, 0, 0, 0}));
    EXPECT_EQ(windows(with(given, {{"use_sliding_window", true}})), (Windows{0, 0, 0, 8}));
    EXPECT_EQ(windows(with(given, {{"use_sliding_window", false}})), (Windows{0, 0, 0, 0}));
  }
  const json moe = with(sizes("qwen3_moe"), {{"sliding_window", 8}, {"max_window_layers", 3}});
  EXPECT_EQ(windows(with(moe, {{"use_sliding_window", true}})), (Windows{8, 8, 8, 8}));
}

TEST(Windows, ByTheFamilysPattern) {
  EXPECT_EQ(windows(with(sizes("gemma2"), {{"sliding_window", 8}})), (Windows{8, 0, 8, 0}));
  EXPECT_EQ(windows(with(sizes("olmo3"), {{"sliding_window", 8}})), (Windows{8, 8, 8, 0}));
  EXPECT_EQ(windows(with(sizes("gemma3_text", 7), {{"sliding_window", 8}})),
            (Windows{8, 8, 8, 8, 8, 0, 8}));
}

TEST(Cases, ATT_5_Keys) {
  const json gemma2 = sizes("gemma2");
  for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping"}) {
    for (const json& value : {json(0), json(-1), json("NaN")}) {
      SCOPED_TRACE(key + value.dump());
      expect_error(ErrorKind::kBadFile, {"config.json", key}, [&] {
        spec_of(with(gemma2, {{key, value}}));
      });
    }
  }
  EXPECT_EQ(spec_of(gemma2).score_softcap, 50);
  EXPECT_EQ(spec_of(gemma2).logit_softcap, 30);
  const ModelSpec none = spec_of(
      with(gemma2, {{"attn_logit_softcapping", nullptr}, {"final_logit_softcapping", nullptr}}));
  EXPECT_EQ(none.score_softcap, 0);
  EXPECT_EQ(none.logit_softcap, 0);
  EXPECT_EQ(spec_of(with(gemma2, {{"attn_logit_softcapping", 12.5}})).score_softcap, 12.5);
  EXPECT_EQ(spec_of(with(gemma2, {{"query_pre_attn_scalar", 100}})).score_scale, 0.1);
  EXPECT_EQ(spec_of(gemma2).score_scale, 1.0 / 16);
}

TEST(Gemma, LegacyActivation) {
  const auto activation = [](const char* family, const json& more) {
    return spec_of(with(sizes(family), more)).activation;
  };
  EXPECT_EQ(activation("gemma", {{"hidden_act", "gelu"}}), Activation::kGeluTanh);
  EXPECT_EQ(activation("gemma", {{"hidden_act", "relu"}}), Activation::kRelu);
  EXPECT_EQ(activation("gemma2", {{"hidden_activation", "gelu"}}), Activation::kGelu);
  EXPECT_EQ(activation("gemma2", {{"hidden_act", "gelu"}}), Activation::kGeluTanh);
}

TEST(Gemma3, TwoRotaryTables) {
  const json classic =
      with(sizes("gemma3_text", 6), {{"rope_theta", 500000},
                                     {"rope_local_base_freq", 8000},
                                     {"rope_scaling", {{"rope_type", "linear"}, {"factor", 8}}}});
  const ModelSpec spec = spec_of(classic);
  EXPECT_EQ(ropes(spec), (std::vector<int>{1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(spec.ropes[0].base, 500000);
  EXPECT_EQ(spec.ropes[0].inverse_frequency[0], 0.125);
  EXPECT_EQ(spec.ropes[1].base, 8000);
  EXPECT_EQ(spec.ropes[1].inverse_frequency[0], 1);  // rope_scaling is not for these
  const ModelSpec plain = spec_of(sizes("gemma3_text"));
  EXPECT_EQ(plain.ropes[0].base, 1000000);
  EXPECT_EQ(plain.ropes[1].base, 10000);
  const ModelSpec nested = spec_of(with(
      sizes("gemma3_text"),
      {{"rope_parameters",
        {{"full_attention", {{"rope_theta", 5}}}, {"sliding_attention", {{"type", "default"}}}}}}));
  EXPECT_EQ(nested.ropes[0].base, 5);
  EXPECT_EQ(nested.ropes[1].base, 10000);
  // Switching the window off changes what is seen, not how positions turn.
  const ModelSpec open = spec_of(with(sizes("gemma3_text"), {{"sliding_window", nullptr}}));
  EXPECT_EQ(open.blocks[0].window, 0);
  EXPECT_EQ(open.blocks[0].rope, 1);
}

TEST(Inner, ConfigurationGoesFirst) {
  const json outer = {
      {"model_type", "gemma3"},
      {"hidden_size", 1152},
      {"vocab_size", 77},
      {"vision_config", {{"hidden_size", 9}}},
      {"text_config",
       {{"model_type", "gemma3_text"}, {"hidden_size", 640}, {"num_hidden_layers", 2}}}};
  const ModelSpec spec = spec_of(outer);
  EXPECT_EQ(spec.family, "gemma3_text");
  EXPECT_EQ(spec.width, 640);
  EXPECT_EQ(spec.vocabulary, 77);  // absent inside
  EXPECT_EQ(spec.heads, 8);        // absent altogether: the family's default
  EXPECT_EQ(spec.head_width, 256);
  ASSERT_EQ(spec.notes.size(), 1u);
  EXPECT_EQ(spec.notes[0],
            "config.json: text_config: hidden_size is number 640; the outer configuration's number "
            "1152 is not used");
  const io::Config once = inner_config(config_of(outer), "text_config");
  EXPECT_EQ(inner_config(once, "text_config").json(), once.json());
  EXPECT_FALSE(once.has("vision_config"));
  expect_error(ErrorKind::kBadFile, {"config.json: text_config", "hidden_size is -1"}, [&] {
    json bad = outer;
    bad["text_config"]["hidden_size"] = -1;
    spec_of(bad);
  });
}

TEST(Defaults, FillAbsentKeysOnly) {
  const io::Config filled =
      with_defaults(config_of({{"a", 1}, {"b", nullptr}}), R"({"a": 2, "b": 2, "c": 2})");
  EXPECT_EQ(filled.json(), (json{{"a", 1}, {"b", nullptr}, {"c", 2}}));
}

TEST(SmolLm3, BlocksWithoutPositions) {
  EXPECT_EQ(ropes(spec_of(sizes("smollm3", 5))), (std::vector<int>{0, 0, 0, -1, 0}));
  EXPECT_EQ(ropes(spec_of(with(sizes("smollm3"), {{"no_rope_layers", {0, 1, 0, 1}}}))),
            (std::vector<int>{-1, 0, -1, 0}));
  EXPECT_EQ(windows(with(sizes("smollm3"), {{"use_sliding_window", true}, {"sliding_window", 8}})),
            (Windows{0, 0, 0, 8}));
  EXPECT_TRUE(spec_of(sizes("smollm3")).tied_head);
  expect_error(ErrorKind::kBadFile, {"no_rope_layers has 3 entries, the model 4 layers"}, [&] {
    spec_of(with(sizes("smollm3"), {{"no_rope_layers", {0, 1, 0}}}));
  });
}

std::vector<bool> sparse(const ModelSpec& spec) {
  std::vector<bool> all;
  for (const BlockFacts& block : spec.blocks) all.push_back(block.experts);
  return all;
}

TEST(Experts, InTheBlocksThatTheKeysLeave) {
  const json moe =
      with(sizes("qwen3_moe"),
           {{"num_experts", 6}, {"num_experts_per_tok", 3}, {"moe_intermediate_size", 10}});
  const ModelSpec spec = spec_of(moe);
  EXPECT_EQ(sparse(spec), (std::vector<bool>{true, true, true, true}));
  EXPECT_EQ(spec.experts.count, 6);
  EXPECT_EQ(spec.experts.chosen, 3);
  EXPECT_EQ(spec.experts.width, 10);
  EXPECT_FALSE(spec.experts.normalise);
  EXPECT_TRUE(spec_of(with(moe, {{"norm_topk_prob", true}})).experts.normalise);
  EXPECT_EQ(sparse(spec_of(with(moe, {{"decoder_sparse_step", 2}, {"mlp_only_layers", {3}}}))),
            (std::vector<bool>{false, true, false, false}));
  EXPECT_EQ(sparse(spec_of(with(moe, {{"num_experts", 0}}))),
            (std::vector<bool>{false, false, false, false}));
  expect_error(ErrorKind::kBadFile, {"num_experts_per_tok is 7"}, [&] {
    spec_of(with(moe, {{"num_experts_per_tok", 7}}));
  });
  expect_error(ErrorKind::kBadFile, {"decoder_sparse_step is 0"}, [&] {
    spec_of(with(moe, {{"decoder_sparse_step", 0}}));
  });
  const ModelSpec mixtral = spec_of(with(sizes("mixtral"), {{"num_local_experts", 3}}));
  EXPECT_EQ(mixtral.experts.count, 3);
  EXPECT_EQ(mixtral.experts.chosen, 2);
  EXPECT_EQ(mixtral.experts.width, 24);
  EXPECT_TRUE(mixtral.experts.normalise);
}

TEST(Qwen3Next, FullAttentionOnly) {
  const json dense =
      with(sizes("qwen3_next", 2), {{"full_attention_interval", 1}, {"mlp_only_layers", {0, 1}}});
  const ModelSpec spec = spec_of(dense);
  EXPECT_TRUE(spec.attention_gate);
  EXPECT_EQ(spec.ropes.front().width, 4);
  EXPECT_EQ(spec.qkv_width(), 64 + 64 + 2 * 32);
  EXPECT_EQ(spec_of(with(dense, {{"num_experts", 4},
                                 {"num_experts_per_tok", 2},
                                 {"mlp_only_layers", json::array()}}))
                .experts.shared_width,
            512);
  expect_error(ErrorKind::kUnsupported, {"config.json", "layer_types", "linear_attention"},
               [&] { spec_of(sizes("qwen3_next")); });
  expect_error(ErrorKind::kUnsupported, {"config.json", "layer_types has \"linear_attention\""},
               [&] {
                 spec_of(with(dense, {{"layer_types", {"full_attention", "linear_attention"}}}));
               });
}

TEST(Granite, Factors) {
  const ModelSpec spec = spec_of(with(sizes("granite"), {{"embedding_multiplier", 12},
                                                         {"attention_multiplier", 0.015625},
                                                         {"residual_multiplier", 0.22},
                                                         {"logits_scaling", 8}}));
  EXPECT_EQ(spec.embed_scale, 12);
  EXPECT_EQ(spec.score_scale, 0.015625);
  EXPECT_EQ(spec.residual_scale, 0.22);
  EXPECT_EQ(spec.logit_scale, 0.125);
  EXPECT_EQ(spec_of(sizes("granite")).score_scale, 1);  // not 1 / sqrt(K)
  expect_error(ErrorKind::kBadFile, {"logits_scaling is 0"}, [] {
    spec_of(with(sizes("granite"), {{"logits_scaling", 0}}));
  });
}

TEST(Olmo, NormsAndClamp) {
  const ModelSpec spec = spec_of(with(sizes("olmo"), {{"clip_qkv", 8}}));
  EXPECT_TRUE(spec.plain_norms);
  EXPECT_EQ(spec.norm, Norm::kLayer);
  EXPECT_EQ(spec.qkv_clip, 8);
  EXPECT_EQ(spec_of(with(sizes("olmo"), {{"clip_qkv", nullptr}})).qkv_clip, 0);
  const ModelSpec third = spec_of(
      with(sizes("olmo3"),
           {{"max_position_embeddings", 64},
            {"rope_scaling",
             {{"rope_type", "yarn"}, {"factor", 8}, {"original_max_position_embeddings", 8}}}}));
  EXPECT_EQ(ropes(third), (std::vector<int>{1, 1, 1, 0}));
  EXPECT_GT(third.ropes[0].magnitude, 1.2);
  EXPECT_EQ(third.ropes[1].magnitude, 1);
  EXPECT_EQ(third.ropes[1].base, 500000);
}

TEST(LayerNormFamilies, Facts) {
  const ModelSpec nemotron = spec_of(with(sizes("nemotron"), {{"norm_eps", 1e-4}}));
  EXPECT_EQ(nemotron.activation, Activation::kSquaredRelu);
  EXPECT_FALSE(nemotron.gated_mlp);
  EXPECT_EQ(nemotron.norm_epsilon, 1e-4);
  EXPECT_EQ(nemotron.ropes.front().width, 8);
  const ModelSpec stablelm = spec_of(
      with(sizes("stablelm"),
           {{"use_parallel_residual", true}, {"qk_layernorm", true}, {"use_qkv_bias", true}}));
  EXPECT_EQ(stablelm.form, BlockForm::kParallel);
  EXPECT_EQ(stablelm.qk_norm, QkNorm::kPerHead);
  EXPECT_TRUE(stablelm.attention_bias);
  EXPECT_FALSE(stablelm.output_bias);
  EXPECT_EQ(stablelm.ropes.front().width, 4);
  const ModelSpec cohere = spec_of(sizes("cohere"));
  EXPECT_TRUE(cohere.ropes.front().interleaved);
  EXPECT_EQ(cohere.form, BlockForm::kParallel);
  EXPECT_EQ(cohere.logit_scale, 0.0625);
  EXPECT_TRUE(cohere.tied_head);
}

TEST(Vision, Sizes) {
  const json vit = {{"model_type", "vit"},      {"hidden_size", 48},      {"num_hidden_layers", 2},
                    {"num_attention_heads", 4}, {"image_size", {32, 48}}, {"patch_size", 8},
                    {"intermediate_size", 80}};
  const ModelSpec spec = read_vision_config(config_of(vit));
  EXPECT_EQ(spec.vision.image_height, 32);
  EXPECT_EQ(spec.vision.image_width, 48);
  EXPECT_EQ(spec.vision.patch_inputs(), 3 * 64);
  EXPECT_FALSE(spec.causal);
  EXPECT_EQ(spec.kv_heads, 4);
  EXPECT_EQ(spec.vocabulary, 0);
  const auto refused = [&](const json& more, ErrorKind kind, const std::string& says) {
    expect_error(kind, {"config.json", says},
                 [&] { read_vision_config(config_of(with(vit, more))); });
  };
  refused({{"patch_size", {8, 4}}}, ErrorKind::kUnsupported, "patch_size is 8 x 4");
  refused({{"patch_size", 0}}, ErrorKind::kBadFile, "patch_size is 0");
  refused({{"image_size", {8, 8, 8}}}, ErrorKind::kBadFile, "image_size has 3 entries");
  refused({{"image_size", 4}}, ErrorKind::kBadFile, "smaller than patch_size 8");
}

}  // namespace
}  // namespace sinkscope::model
