#include "sinkscope/model/family.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/io/files.h"

namespace sinkscope::model {
namespace {

using io::test::expect_error;
using nlohmann::json;

io::Config config_of(const json& document) {
  return io::Config::parse(document.dump(), "config.json");
}

json llama() {
  return {{"model_type", "llama"},  {"hidden_size", 16},        {"intermediate_size", 24},
          {"num_hidden_layers", 1}, {"num_attention_heads", 4}, {"num_key_value_heads", 2},
          {"vocab_size", 20}};
}

json gpt2() {
  return {{"model_type", "gpt2"}, {"n_embd", 12},     {"n_layer", 2},
          {"n_head", 3},          {"vocab_size", 20}, {"n_positions", 8}};
}

ModelSpec spec_of(const json& document) {
  const io::Config config = config_of(document);
  return find_family(config).read_config(config);
}

TEST(Family, IsChosenByModelType) {
  EXPECT_EQ(find_family(config_of({{"model_type", "gpt2"}})).name, "gpt2");
  EXPECT_EQ(
      find_family(config_of({{"model_type", "llama"}, {"architectures", {"GPT2LMHeadModel"}}}))
          .name,
      "llama");
  expect_error(ErrorKind::kUnsupported,
               {"config.json", "model_type is \"mamba\"", "supported families: ", "llama"}, [] {
                 find_family(config_of({{"model_type", "mamba"}}));
               });
}

TEST(Family, WithoutModelTypeIsChosenByArchitectures) {
  json document = llama();
  document.erase("model_type");
  document["architectures"] = {"LlamaForCausalLM"};
  EXPECT_EQ(spec_of(document).family, "llama");
  document["architectures"] = {"MambaForCausalLM"};
  expect_error(ErrorKind::kUnsupported,
               {"config.json", "architectures", "MambaForCausalLM", "supported families: "},
               [&] { spec_of(document); });
  expect_error(ErrorKind::kUnsupported,
               {"config.json", "model_type", "architectures", "supported families: "},
               [] { find_family(config_of(json::object())); });
}

TEST(Family, TableHasNoNameTwice) {
  std::set<std::string_view> names, architectures;
  for (const Family* family : all_families()) {
    EXPECT_TRUE(names.insert(family->name).second) << family->name;
    for (const std::string_view alias : family->aliases) {
      EXPECT_TRUE(names.insert(alias).second) << alias;
    }
    const bool alone = !family->architecture.empty() && !family->claims;
    EXPECT_TRUE(!alone || architectures.insert(family->architecture).second) << family->name;
    EXPECT_EQ(family->architecture.empty(), family->read_gguf == nullptr) << family->name;
  }
}

/// Rows of one name are alternatives; under one condition a name in a file belongs to one of ours.
TEST(Family, WeightTablesAreConsistent) {
  for (const Family* family : all_families()) {
    SCOPED_TRACE(family->name);
    std::map<std::pair<std::string_view, Condition>, std::string_view> owners;
    for (const WeightName& row : family->weights) {
      const bool in_block = row.ours.starts_with("blocks.{}.");
      for (const std::string_view name : {row.safetensors, row.gguf}) {
        if (name.empty()) continue;
        EXPECT_EQ(owners.emplace(std::pair(name, row.when), row.ours).first->second, row.ours)
            << name;
        EXPECT_EQ(name.find("{}") != std::string_view::npos, in_block) << name;
      }
      EXPECT_TRUE(row.gguf.empty() || row.gguf.starts_with("blk.{}.") == in_block) << row.gguf;
      EXPECT_TRUE(!row.safetensors.empty() || !family->architecture.empty()) << row.ours;
      const bool by_expert = row.safetensors.find("{e}") != std::string_view::npos;
      EXPECT_TRUE(!by_expert || row.ours.starts_with("blocks.{}.experts.")) << row.ours;
    }
  }
}

TEST(Sizes, DefaultsOfLlama) {
  json document = llama();
  ModelSpec spec = spec_of(document);
  EXPECT_EQ(spec.head_width, 4);
  EXPECT_EQ(spec.kv_heads, 2);
  EXPECT_EQ(spec.score_scale, 0.5);
  EXPECT_EQ(spec.context, 0);
  EXPECT_FALSE(spec.tied_head);
  EXPECT_EQ(spec.norm, Norm::kRms);
  document.erase("num_key_value_heads");
  document["head_dim"] = 10;  // need not be width / heads
  spec = spec_of(document);
  EXPECT_EQ(spec.kv_heads, 4);
  EXPECT_EQ(spec.query_width(), 40);
  EXPECT_EQ(spec.ropes.front().width, 10);
  document["num_attention_heads"] = 5;  // does not divide 16, which does not matter then
  EXPECT_EQ(spec_of(document).kv_heads, 5);
}

TEST(Sizes, DefaultsOfGpt2) {
  const ModelSpec spec = spec_of(gpt2());
  EXPECT_EQ(spec.mlp_width, 48);
  EXPECT_EQ(spec.context, 8);
  EXPECT_TRUE(spec.tied_head);
  EXPECT_TRUE(spec.attention_bias && spec.output_bias && spec.mlp_bias);
  EXPECT_EQ(spec.norm, Norm::kLayer);
  EXPECT_EQ(spec.positions, Positions::kLearned);
  EXPECT_EQ(spec.activation, Activation::kGeluTanh);
  EXPECT_NEAR(spec.score_scale, 0.5, 1e-15);
  json unscaled = gpt2();
  unscaled["scale_attn_weights"] = false;
  unscaled["activation_function"] = "relu";
  EXPECT_EQ(spec_of(unscaled).score_scale, 1);
  EXPECT_EQ(spec_of(unscaled).activation, Activation::kRelu);
}

struct Change {
  const char* key;
  json value;
  std::vector<std::string> says;
  ErrorKind kind = ErrorKind::kBadFile;
};

void expect_refused(const json& base, const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    json document = base;
    document[change.key] = change.value;
    SCOPED_TRACE(std::string(change.key) + " " + change.value.dump());
    std::vector<std::string> says = change.says;
    says.push_back("config.json");
    expect_error(change.kind, says, [&] { spec_of(document); });
  }
}

TEST(Sizes, ThatCannotBeAreRefusedByKey) {
  expect_refused(
      llama(),
      {
          {"hidden_size", 0, {"hidden_size is 0"}},
          {"hidden_size", -16, {"hidden_size is -16"}},
          {"hidden_size", int64_t{1} << 40, {"hidden_size is 1099511627776"}},
          {"hidden_size", 1e300, {"hidden_size"}},
          {"hidden_size", 16.5, {"hidden_size"}},
          {"hidden_size", "16", {"hidden_size"}},
          {"hidden_size", nullptr, {"hidden_size"}},
          {"num_hidden_layers", int64_t{1} << 31, {"num_hidden_layers is 2147483648"}},
          {"num_attention_heads", 5, {"hidden_size 16", "num_attention_heads 5", "head_dim"}},
          {"num_key_value_heads",
           3,
           {"num_key_value_heads 3 does not divide num_attention_heads 4"}},
          {"num_key_value_heads", 8, {"num_key_value_heads 8"}},
          {"num_key_value_heads", 0, {"num_key_value_heads is 0"}},
          {"head_dim", -4, {"head_dim is -4"}},
          {"vocab_size", 0, {"vocab_size is 0"}},
          {"intermediate_size", -1, {"intermediate_size is -1"}},
          {"max_position_embeddings", -1, {"max_position_embeddings is -1"}},
          {"tie_word_embeddings", "yes", {"tie_word_embeddings"}},
          {"rms_norm_eps", "small", {"rms_norm_eps"}},
          {"hidden_act", "mish", {"hidden_act is \"mish\""}, ErrorKind::kUnsupported},
          {"num_hidden_layers", 65537, {"num_hidden_layers is 65537"}},
          {"head_dim", 65538, {"head_dim is 65538"}},
      });
}

// The complaint uses the key that the file has.
TEST(Sizes, AreCalledByTheNameInTheFile) {
  expect_refused(gpt2(), {
                             {"n_head", 0, {"n_head is 0"}},
                             {"n_embd", -1, {"n_embd is -1"}},
                             {"n_layer", 0, {"n_layer is 0"}},
                             {"n_positions", -8, {"n_positions is -8"}},
                             {"n_inner", -8, {"n_inner is -8"}},
                             {"n_head", 5, {"n_embd 12", "n_head 5"}},
                             {"activation_function",
                              "mish",
                              {"activation_function is \"mish\""},
                              ErrorKind::kUnsupported},
                             {"scale_attn_by_inverse_layer_idx",
                              true,
                              {"scale_attn_by_inverse_layer_idx"},
                              ErrorKind::kUnsupported},
                         });
}

}  // namespace
}  // namespace sinkscope::model
