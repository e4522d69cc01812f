#include <gtest/gtest.h>

#include <fstream>

#include "sinkscope/io/safetensors.h"
#include "tests/model/models.h"

namespace sinkscope::model {
namespace {

namespace fs = std::filesystem;

/// A copy of the weights in `from` with every name changed by `rename`, beside the same
/// config.json.
template <typename Rename>
fs::path renamed_copy(const fs::path& from, const std::string& name, Rename rename) {
  const fs::path folder = test::scratch_directory(name);
  fs::copy_file(from / "config.json", folder / "config.json");
  const auto source = io::open_safetensors(from);
  std::vector<io::TensorToWrite> tensors;
  for (const io::TensorInfo& tensor : source->tensors()) {
    tensors.push_back({rename(tensor.name), tensor.dtype, tensor.shape, source->bytes(tensor)});
  }
  io::write_safetensors(folder / "model.safetensors", tensors);
  return folder;
}

TEST(Weights, NamesOfGpt2WithAndWithoutPrefix) {
  SINKSCOPE_DATA_OR_SKIP(config, "golden/gpt2/config.json");
  const fs::path bare = config.parent_path();
  const fs::path prefixed =
      renamed_copy(bare, "prefixed", [](const std::string& n) { return "transformer." + n; });
  test::expect_same_weights(*Model::open(bare.string()), *Model::open(prefixed.string()));
}

TEST(Weights, APrefixThatIsNotTheFamilysIsNoMatch) {
  SINKSCOPE_DATA_OR_SKIP(config, "golden/gpt2/config.json");
  const fs::path other = renamed_copy(config.parent_path(), "other_prefix",
                                      [](const std::string& n) { return "model." + n; });
  test::expect_error(ErrorKind::kBadFile,
                     {"tensor transformer.wte.weight is missing", "model.safetensors"},
                     [&] { Model::open(other.string()); });
}

TEST(Weights, ProjectionsAreStackedInOrder) {
  SINKSCOPE_DATA_OR_SKIP(config, "golden/llama/config.json");
  const auto model = Model::open(config.parent_path().string());
  const ModelSpec& spec = model->spec();
  BlockWeights block;
  model->weights().load_block(2, at::kFloat, block);
  const auto stored = [&](const char* ours) {
    const io::TensorInfo& tensor = *model->weights().find(ours, 2);
    std::vector<float> values(static_cast<size_t>(tensor.elements()));
    io::read_floats(model->source(), tensor, 0, values);
    return values;
  };
  const auto joined = [&](std::initializer_list<const char*> names) {
    std::vector<float> all;
    for (const char* name : names) {
      const std::vector<float> part = stored(name);
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  };
  EXPECT_EQ(block.qkv.weight.size(0), spec.query_width() + 2 * spec.key_width());
  EXPECT_EQ(test::floats(block.qkv.weight), joined({"blocks.{}.q", "blocks.{}.k", "blocks.{}.v"}));
  EXPECT_EQ(test::floats(block.up.weight), joined({"blocks.{}.gate", "blocks.{}.up"}));
  EXPECT_EQ(test::floats(block.down.weight), stored("blocks.{}.down"));
  EXPECT_FALSE(block.qkv.bias.defined());
  EXPECT_FALSE(block.norm1.bias.defined());
}

TEST(Weights, Gpt2MatricesAreTransposed) {
  SINKSCOPE_DATA_OR_SKIP(config, "golden/gpt2/config.json");
  const auto model = Model::open(config.parent_path().string());
  BlockWeights block;
  model->weights().load_block(0, at::kFloat, block);
  const io::TensorInfo& tensor = *model->weights().find("blocks.{}.up", 0);
  std::vector<float> stored(static_cast<size_t>(tensor.elements()));
  io::read_floats(model->source(), tensor, 0, stored);
  const int64_t in = tensor.shape[0], out = tensor.shape[1];
  ASSERT_EQ(block.up.weight.size(0), out);
  ASSERT_EQ(block.up.weight.size(1), in);
  const std::vector<float> ours = test::floats(block.up.weight);
  for (const int64_t i : {int64_t{0}, int64_t{7}, in - 1}) {
    for (const int64_t o : {int64_t{0}, int64_t{5}, out - 1}) {
      EXPECT_EQ(ours[static_cast<size_t>(o * in + i)], stored[static_cast<size_t>(i * out + o)])
          << i << " " << o;
    }
  }
}

TEST(Weights, BfloatShardsAreReadExactlyInBothTypes) {
  SINKSCOPE_DATA_OR_SKIP(config, "golden/llama_sharded_bf16/config.json");
  const auto model = Model::open(config.parent_path().string());
  EXPECT_EQ(model->source().files().size(), 3u);
  BlockWeights plain, half;
  for (int64_t layer = 0; layer < model->spec().layers; ++layer) {
    model->weights().load_block(layer, at::kFloat, plain);
    model->weights().load_block(layer, at::kBFloat16, half);
    EXPECT_EQ(half.qkv.weight.scalar_type(), at::kBFloat16);
    EXPECT_EQ(half.norm1.gain.scalar_type(), at::kFloat);
    const auto a = test::tensors_of(plain), b = test::tensors_of(half);
    for (size_t i = 0; i < a.size(); ++i) {
      if (!a[i].second.defined()) continue;
      EXPECT_EQ(test::floats(a[i].second), test::floats(b[i].second)) << a[i].first;
    }
  }
}

TEST(Weights, RoundingToBfloatIsToNearest) {
  SINKSCOPE_DATA_OR_SKIP(config, "golden/llama/config.json");
  const auto model = Model::open(config.parent_path().string());
  BlockWeights plain, half;
  model->weights().load_block(0, at::kFloat, plain);
  model->weights().load_block(0, at::kBFloat16, half);
  EXPECT_TRUE(test::same_bits(half.qkv.weight, plain.qkv.weight.to(at::kBFloat16)));
}

TEST(Weights, BuffersAreReusedFromBlockToBlock) {
  SINKSCOPE_DATA_OR_SKIP(config, "golden/llama/config.json");
  const auto model = Model::open(config.parent_path().string());
  BlockWeights block, fresh;
  model->weights().load_block(0, at::kFloat, block);
  const void* qkv = block.qkv.weight.data_ptr();
  model->weights().load_block(1, at::kFloat, block);
  EXPECT_EQ(block.qkv.weight.data_ptr(), qkv);
  model->weights().load_block(1, at::kFloat, fresh);
  EXPECT_TRUE(test::same_bits(block.qkv.weight, fresh.qkv.weight));
}

/// The case's directory with one line of its config.json replaced.
fs::path with_config(const fs::path& from, const std::string& name, const std::string& old_text,
                     const std::string& text) {
  const fs::path folder = renamed_copy(from, name, [](const std::string& n) { return n; });
  std::string json = test::read_file(folder / "config.json");
  const size_t place = json.find(old_text);
  EXPECT_NE(place, std::string::npos);
  test::write_file(folder / "config.json", json.replace(place, old_text.size(), text));
  return folder;
}

TEST(Weights, TiedHeadIsTheEmbedding) {
  SINKSCOPE_DATA_OR_SKIP(config, "golden/llama/config.json");
  const auto model = Model::open(config.parent_path().string());
  EXPECT_TRUE(model->spec().tied_head);
  EXPECT_EQ(model->weights().find("head"), nullptr);
  const std::vector<int32_t> ids = {0, 1, 159};
  const at::Tensor head = model->weights().load_head(at::kFloat).weight,
                   rows = model->weights().rows("embed", ids);
  ASSERT_EQ(head.size(0), 160);
  EXPECT_EQ(test::floats(rows.narrow(0, 2, 1)), test::floats(head.narrow(0, 159, 1)));
  test::expect_error(ErrorKind::kBadFile, {"tensor lm_head.weight is missing", "untied"}, [&] {
    Model::open(with_config(config.parent_path(), "untied", "\"tie_word_embeddings\": true",
                            "\"tie_word_embeddings\": false")
                    .string());
  });
}

TEST(Weights, HeadOfAFileThatSaysTiedIsNotedAndLeft) {
  SINKSCOPE_DATA_OR_SKIP(config, "gguf/models/llama/config.json");
  const auto untied =
      Model::open(renamed_copy(config.parent_path(), "with_head", [](const std::string& n) {
                    return n;
                  }).string());
  EXPECT_FALSE(untied->spec().tied_head);
  EXPECT_TRUE(untied->notes().empty());
  const auto tied =
      Model::open(with_config(config.parent_path(), "tied", "\"tie_word_embeddings\": false",
                              "\"tie_word_embeddings\": true")
                      .string());
  ASSERT_EQ(tied->notes().size(), 1u);
  EXPECT_NE(tied->notes()[0].find("lm_head.weight"), std::string::npos) << tied->notes()[0];
  const at::Tensor head = tied->weights().load_head(at::kFloat).weight;
  EXPECT_FALSE(test::same_bits(head, untied->weights().load_head(at::kFloat).weight));
  const std::vector<int32_t> ids = {7};
  EXPECT_EQ(test::floats(tied->weights().rows("embed", ids)), test::floats(head.narrow(0, 7, 1)));
}

TEST(Weights, CountsOfParametersAndBytes) {
  SINKSCOPE_DATA_OR_SKIP(config, "golden/llama/config.json");
  const auto model = Model::open(config.parent_path().string());
  int64_t all = 0;
  for (const io::TensorInfo& tensor : model->source().tensors()) all += tensor.elements();
  EXPECT_EQ(model->weights().parameters(), all);
  const ModelSpec& s = model->spec();
  const int64_t block =
      2 * s.width + s.width * (2 * s.query_width() + 2 * s.key_width()) + 3 * s.width * s.mlp_width;
  EXPECT_EQ(model->weights().largest_block_bytes(), 4 * block);
  EXPECT_EQ(all, s.layers * block + s.vocabulary * s.width + s.width);
}

}  // namespace
}  // namespace sinkscope::model
