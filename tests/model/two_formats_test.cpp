// Case ATT-4: one model written as safetensors and as GGUF has the same weights in our order.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/model/gguf_writer.h"
#include "tests/model/models.h"

namespace sinkscope::model {
namespace {

void expect_same_facts(const ModelSpec& a, const ModelSpec& b) {
  EXPECT_EQ(a.text(), b.text());
  EXPECT_EQ(a.context, b.context);
  EXPECT_EQ(a.norm, b.norm);
  EXPECT_EQ(a.positions, b.positions);
  EXPECT_EQ(a.activation, b.activation);
  EXPECT_EQ(a.gated_mlp, b.gated_mlp);
  EXPECT_EQ(a.tied_head, b.tied_head);
  EXPECT_EQ(a.score_scale, b.score_scale);
  ASSERT_EQ(a.ropes.size(), b.ropes.size());
  for (size_t r = 0; r < a.ropes.size(); ++r) {
    EXPECT_EQ(a.ropes[r].inverse_frequency, b.ropes[r].inverse_frequency);
  }
  EXPECT_NEAR(a.norm_epsilon / b.norm_epsilon, 1, 1e-6);  // GGUF keeps it as a float
}

TEST(Cases, ATT_4_Llama) {
  SINKSCOPE_DATA_OR_SKIP(folder, "gguf/models/llama/config.json");
  SINKSCOPE_DATA_OR_SKIP(file, "gguf/models/llama/llama-f32.gguf");
  const auto hub = Model::open(folder.parent_path().string()), gguf = Model::open(file.string());
  EXPECT_EQ(hub->format(), "safetensors");
  EXPECT_EQ(gguf->format(), "gguf");
  expect_same_facts(hub->spec(), gguf->spec());
  test::expect_same_weights(*hub, *gguf);
}

// Without this the comparison above could pass on files that need no reordering.
TEST(Cases, ATT_4_RowsOfTheFileAreInterleaved) {
  SINKSCOPE_DATA_OR_SKIP(file, "gguf/models/llama/llama-f32.gguf");
  const auto gguf = Model::open(file.string());
  BlockWeights block;
  gguf->weights().load_block(0, at::kFloat, block);
  const int64_t width = gguf->spec().width, head_width = gguf->spec().head_width;
  const io::TensorInfo& q = *gguf->weights().find("blocks.{}.q", 0);
  std::vector<float> stored(static_cast<size_t>(q.elements()));
  io::read_floats(gguf->source(), q, 0, stored);
  const std::vector<float> ours = test::floats(block.qkv.weight);
  const auto row_at = [width](const std::vector<float>& rows, int64_t row) {
    return std::vector<float>(rows.begin() + row * width, rows.begin() + (row + 1) * width);
  };
  for (const int64_t head : {0, 3}) {  // file row 2i + j is our row i + j K/2
    for (const int64_t i : {0, 1, 5}) {
      EXPECT_EQ(row_at(stored, head * head_width + 2 * i), row_at(ours, head * head_width + i));
      EXPECT_EQ(row_at(stored, head * head_width + 2 * i + 1),
                row_at(ours, head * head_width + i + head_width / 2));
    }
  }
}

TEST(Cases, ATT_4_Gpt2) {
  SINKSCOPE_DATA_OR_SKIP(folder, "gguf/models/gpt2/config.json");
  SINKSCOPE_DATA_OR_SKIP(file, "gguf/models/gpt2/gpt2-f32.gguf");
  const auto hub = Model::open(folder.parent_path().string()), gguf = Model::open(file.string());
  expect_same_facts(hub->spec(), gguf->spec());
  test::expect_same_weights(*hub, *gguf);
  const std::vector<int32_t> positions = {0, 1, 127};
  EXPECT_TRUE(test::same_bits(hub->weights().rows("positions", positions),
                              gguf->weights().rows("positions", positions)));
}

TEST(TwoFormats, QuantisedFileIsCloseToTheOriginal) {
  SINKSCOPE_DATA_OR_SKIP(folder, "gguf/models/llama/config.json");
  SINKSCOPE_DATA_OR_SKIP(file, "gguf/models/llama/llama-q8_0.gguf");
  const auto hub = Model::open(folder.parent_path().string()), gguf = Model::open(file.string());
  EXPECT_NE(gguf->weight_types().find("Q8_0 x"), std::string::npos) << gguf->weight_types();
  BlockWeights exact, rounded;
  hub->weights().load_block(1, at::kFloat, exact);
  gguf->weights().load_block(1, at::kFloat, rounded);
  const std::vector<float> a = test::floats(exact.qkv.weight), b = test::floats(rounded.qkv.weight);
  ASSERT_EQ(a.size(), b.size());
  double largest = 0, gap = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(double{a[i]}));
    gap = std::max(gap, std::abs(double{a[i]} - b[i]));
  }
  EXPECT_GT(gap, 0);
  EXPECT_LT(gap, largest / 127);  // half a step of 8 bits, and the rounding of the scale
}

/// A llama of one block, two heads of four channels and one key/value head, whose biases count up.
test::GgufWriter llama_with_biases() {
  test::GgufWriter writer;
  writer.text("general.architecture", "llama");
  for (const auto& [key, value] :
       std::vector<std::pair<const char*, uint32_t>>{{"block_count", 1},
                                                     {"embedding_length", 8},
                                                     {"feed_forward_length", 3},
                                                     {"context_length", 16},
                                                     {"attention.head_count", 2},
                                                     {"attention.head_count_kv", 1}}) {
    writer.integer(std::string("llama.") + key, value);
  }
  writer.number("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  float next = 0;
  const auto add = [&](const std::string& name, const std::vector<uint64_t>& dims) {
    std::vector<float> values(dims.size() == 2 ? dims[0] * dims[1] : dims[0]);
    for (float& value : values) value = next++;
    writer.tensor(name, dims, values);
    next = 0;
  };
  add("token_embd.weight", {8, 5}), add("output_norm.weight", {8});
  const std::string block = "blk.0.";
  add(block + "attn_norm.weight", {8}), add(block + "ffn_norm.weight", {8});
  add(block + "attn_q.weight", {8, 8}), add(block + "attn_k.weight", {8, 4}),
      add(block + "attn_v.weight", {8, 4});
  add(block + "attn_q.bias", {8}), add(block + "attn_k.bias", {4}), add(block + "attn_v.bias", {4});
  add(block + "attn_output.weight", {8, 8});
  add(block + "ffn_gate.weight", {8, 3}), add(block + "ffn_up.weight", {8, 3}),
      add(block + "ffn_down.weight", {3, 8});
  return writer;
}

TEST(Cases, ATT_4_BiasesOfQAndKAreInterleavedToo) {
  const auto file = llama_with_biases().write(test::scratch_directory("biases") / "biases.gguf");
  const auto model = Model::open(file.string());
  EXPECT_TRUE(model->spec().attention_bias);
  EXPECT_FALSE(model->spec().output_bias);
  BlockWeights block;
  model->weights().load_block(0, at::kFloat, block);
  EXPECT_EQ(test::floats(block.qkv.bias),
            (std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7,  // q: both heads
                                0, 2, 1, 3,              // k
                                0, 1, 2, 3}));           // v as it is
  EXPECT_FALSE(block.o.bias.defined());
}

}  // namespace
}  // namespace sinkscope::model
