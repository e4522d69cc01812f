// The rows of data/gguf/malformed/README.md that are about facts of models: sizes, families, names
// and shapes of weights, numbers. Those about the files themselves are in tests/io.
#include <gtest/gtest.h>

#include "tests/model/models.h"

namespace sinkscope::model {
namespace {

struct Row {
  std::string file;
  std::vector<std::string> says;
  ErrorKind kind = ErrorKind::kBadFile;
};

// Rows whose file is not in the compact set of a clone are left out; at least one must be there.
void expect_refused(const std::string& folder, const std::vector<Row>& rows) {
  int found = 0;
  for (const Row& row : rows) {
    const auto path = test::data_path("gguf/malformed/" + folder + "/" + row.file);
    if (!path) continue;
    ++found;
    SCOPED_TRACE(row.file);
    std::vector<std::string> says = row.says;
    says.push_back(row.file);
    test::expect_error(row.kind, says, [&] { Model::open(path->string()); });
  }
  if (found == 0) GTEST_SKIP() << "no reference data: gguf/malformed/" << folder;
}

void expect_opens(const std::string& folder, const std::vector<std::string>& files) {
  int found = 0;
  for (const std::string& file : files) {
    const auto path = test::data_path("gguf/malformed/" + folder + "/" + file);
    if (!path) continue;
    ++found;
    SCOPED_TRACE(file);
    std::unique_ptr<Model> model;
    ASSERT_NO_THROW(model = Model::open(path->string()));
    EXPECT_TRUE(model->notes().empty()) << model->notes().front();
    BlockWeights block;
    for (int64_t layer = 0; layer < model->spec().layers; ++layer)
      model->weights().load_block(layer, at::kFloat, block);
    EXPECT_EQ(model->weights().load_head(at::kFloat).weight.size(0), model->spec().vocabulary);
  }
  if (found == 0) GTEST_SKIP() << "no reference data: gguf/malformed/" << folder;
}

TEST(MalformedModel, GgufSizes) {
  expect_refused(
      "gguf",
      {
          {"block-count-2e31.gguf", {"llama.block_count is 2147483648", "2 blocks"}},
          {"block-count-3.gguf", {"tensor blk.2.attn_norm.weight is missing"}},
          {"missing-block-count.gguf", {"llama.block_count"}},
          {"head-count-0.gguf", {"llama.attention.head_count is 0"}},
          {"head-count-string.gguf", {"llama.attention.head_count", "wrong value type"}},
          {"head-count-5.gguf", {"llama.embedding_length 16", "llama.attention.head_count 5"}},
          {"head-count-kv-3.gguf", {"llama.attention.head_count_kv 3 does not divide"}},
          {"rope-dim-64.gguf", {"llama.rope.dimension_count is 64", "4 channels"}},
          {"embedding-length-0.gguf", {"llama.embedding_length is 0"}},
      });
}

TEST(MalformedModel, GgufFamilies) {
  expect_refused("gguf", {
                             {"arch-unknown.gguf",
                              {"general.architecture is \"frobnicate\"", "gpt2, ", "llama, "},
                              ErrorKind::kUnsupported},
                             {"arch-missing.gguf", {"general.architecture"}},
                         });
}

TEST(MalformedModel, GgufTensors) {
  expect_refused("gguf", {
                             {"missing-tensor.gguf", {"tensor blk.1.attn_k.weight is missing"}},
                             {"missing-embedding.gguf", {"tensor token_embd.weight is missing"}},
                             {"no-tensors.gguf", {"holds no tensors", "token_embd.weight"}},
                             {"embedding-length-32.gguf",
                              {"tensor token_embd.weight: shape [16, 40], expected [32, 40]"}},
                             {"shape-attn-k.gguf",
                              {"tensor blk.1.attn_k.weight: shape [16, 16], expected [16, 8]"}},
                             {"shape-ffn-down.gguf",
                              {"tensor blk.0.ffn_down.weight: shape [16, 24], expected [24, 16]"}},
                         });
}

TEST(MalformedModel, GgufThatOpens) {
  expect_opens("gguf",
               {"ok-base.gguf", "ok-version-2.gguf", "ok-align-64.gguf", "ok-unknown-keys.gguf",
                "ok-tied.gguf", "ok-reordered.gguf", "note-token-bytes.gguf"});
}

TEST(MalformedModel, UnusedBlocksAreNoted) {
  SINKSCOPE_DATA_OR_SKIP(file, "gguf/malformed/gguf/block-count-1.gguf");
  const auto model = Model::open(file.string());
  EXPECT_EQ(model->spec().layers, 1);
  ASSERT_EQ(model->notes().size(), 1u);
  EXPECT_NE(model->notes()[0].find("llama.block_count is 1, the file has 2 blocks: blk.1"),
            std::string::npos)
      << model->notes()[0];
}

TEST(MalformedModel, NotesOfTheFileAreTold) {
  SINKSCOPE_DATA_OR_SKIP(file, "gguf/malformed/gguf/note-trailing-bytes.gguf");
  const auto model = Model::open(file.string());
  ASSERT_EQ(model->notes().size(), 1u);
  EXPECT_NE(model->notes()[0].find("1,000 trailing bytes"), std::string::npos) << model->notes()[0];
}

TEST(MalformedModel, NanIsNamedWithItsPlace) {
  SINKSCOPE_DATA_OR_SKIP(file, "gguf/malformed/gguf/nan-weight.gguf");
  const auto model = Model::open(file.string());
  BlockWeights block;
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    test::expect_error(ErrorKind::kBadNumbers,
                       {"tensor blk.0.attn_output.weight", "element 37 (row 2, column 5) is NaN",
                        "nan-weight.gguf"},
                       [&] { model->weights().load_block(0, type, block); });
  }
  EXPECT_NO_THROW(model->weights().load_block(1, at::kFloat, block));
}

TEST(MalformedModel, InfinityIsNamedWithItsPlace) {
  SINKSCOPE_DATA_OR_SKIP(file, "gguf/malformed/gguf/inf-weight.gguf");
  const auto model = Model::open(file.string());
  const std::vector<int32_t> sound = {20, 22}, with_infinity = {20, 21, 22};
  EXPECT_NO_THROW(model->weights().rows("embed", sound));
  test::expect_error(ErrorKind::kBadNumbers,
                     {"tensor token_embd.weight", "row 21, column 3", "infinite"},
                     [&] { model->weights().rows("embed", with_infinity); });
}

TEST(MalformedModel, SafetensorsDirectories) {
  expect_refused(
      "safetensors",
      {
          {"dir-missing-shard",
           {"model-00002-of-00002.safetensors", "model.safetensors.index.json"}},
          {"dir-index-lacks",
           {"model.layers.0.mlp.down_proj.weight", "model-00002-of-00002.safetensors"}},
          {"dir-index-invalid", {"model.safetensors.index.json", "byte"}},
          {"dir-no-lm-head", {"tensor lm_head.weight is missing (config.json says untied)"}},
          {"dir-no-config", {"config.json"}},
          {"dir-config-invalid", {"config.json", "byte"}},
          {"dir-config-no-heads", {"config.json", "num_attention_heads"}},
          {"dir-config-heads-0", {"config.json", "num_attention_heads is 0"}},
          {"dir-config-layers-2", {"tensor model.layers.1.input_layernorm.weight is missing"}},
          {"dir-config-vocab",
           {"tensor model.embed_tokens.weight: shape [20, 16], expected [21, 16]"}},
          {"dir-model-type",
           {"model_type is \"frobnicate\"", "gpt2, ", "llama, "},
           ErrorKind::kUnsupported},
      });
}

TEST(MalformedModel, SafetensorsDirectoriesThatOpen) {
  expect_opens("safetensors", {"dir-ok", "dir-ok-shards", "dir-ok-tied"});
}

}  // namespace
}  // namespace sinkscope::model
