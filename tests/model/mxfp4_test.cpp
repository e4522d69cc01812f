// gpt_oss as it is published: experts packed as MXFP4 in safetensors.

#include "sinkscope/io/mxfp4.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "sinkscope/io/safetensors.h"
#include "sinkscope/model/model.h"
#include "sinkscope/model/weight_shapes.h"
#include "tests/io/files.h"
#include "tests/support/paths.h"

namespace sinkscope::model {
namespace {

constexpr int64_t kExperts = 3, kWidth = 64, kInner = 32;

TEST(Mxfp4, PairsAndScales) {
  std::vector<std::byte> blocks(16, std::byte{0});
  blocks[0] = std::byte{0x7A};   // element 0: 1010 = -1, element 1: 0111 = 6
  blocks[15] = std::byte{0x1F};  // element 30: 1111 = -6, element 31: 0001 = 0.5
  const std::vector<std::byte> scales = {std::byte{128}};
  std::vector<float> out(32);
  io::dequantise_mxfp4_pairs(blocks, scales, out);
  EXPECT_EQ(out[0], -2);
  EXPECT_EQ(out[1], 12);
  EXPECT_EQ(out[30], -12);
  EXPECT_EQ(out[31], 1);
  EXPECT_EQ(out[2], 0);
  io::dequantise_mxfp4_pairs(blocks, std::vector<std::byte>{std::byte{255}}, out);
  EXPECT_TRUE(std::isnan(out[0]));
}

/// The tensors of a directory, owned.
struct Tensors {
  std::vector<io::TensorToWrite> list;
  std::vector<std::vector<std::byte>> bytes;

  void add(const std::string& name, io::DType type, std::vector<int64_t> shape,
           std::vector<std::byte> data) {
    bytes.push_back(std::move(data));
    list.push_back({name, type, std::move(shape), {}});
  }
  std::string write(const std::string& folder_name, const nlohmann::json& config) {
    const auto folder = sinkscope::test::scratch_directory(folder_name);
    std::ofstream(folder / "config.json") << config;
    for (size_t i = 0; i < list.size(); ++i) list[i].data = bytes[i];
    io::write_safetensors(folder / "model.safetensors", list);
    return folder.string();
  }
};

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  const auto view = std::as_bytes(std::span(values));
  return {view.begin(), view.end()};
}

std::vector<std::byte> random_bytes(int64_t count, int least, int most, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> out(static_cast<size_t>(count));
  for (std::byte& b : out) {
    b = static_cast<std::byte>(least + static_cast<int>(random() % (most - least + 1u)));
  }
  return out;
}

/// [E, rows, columns] dequantised and transposed to [E, columns, rows], as the plain form stores
/// it.
std::vector<float> plain_form(const std::vector<std::byte>& blocks,
                              const std::vector<std::byte>& scales, int64_t rows, int64_t columns) {
  std::vector<float> values(blocks.size() * 2);
  io::dequantise_mxfp4_pairs(blocks, scales, values);
  const at::Tensor tensor = at::from_blob(values.data(), {kExperts, rows, columns}, at::kFloat)
                                .transpose(1, 2)
                                .contiguous();
  return {tensor.data_ptr<float>(), tensor.data_ptr<float>() + tensor.numel()};
}

TEST(Mxfp4, PackedExpertsEqualThePlainOnes) {
  const nlohmann::json config = {{"model_type", "gpt_oss"},
                                 {"hidden_size", kWidth},
                                 {"intermediate_size", kInner},
                                 {"num_hidden_layers", 1},
                                 {"num_attention_heads", 2},
                                 {"num_key_value_heads", 1},
                                 {"head_dim", 8},
                                 {"vocab_size", 11},
                                 {"num_local_experts", kExperts},
                                 {"num_experts_per_tok", 2},
                                 {"max_position_embeddings", 64}};
  const io::Config read = io::Config::parse(config.dump(), "config.json");
  const Family& family = find_family(read);
  Tensors plain, packed;
  const auto pack = [&](const std::string& name, int64_t rows, int64_t columns, unsigned seed) {
    const auto blocks = random_bytes(kExperts * rows * columns / 2, 0, 255, seed);
    const auto scales = random_bytes(kExperts * rows * columns / 32, 120, 130, seed + 1);
    packed.add(name + "_blocks", io::DType::kU8, {kExperts, rows, columns / 32, 16}, blocks);
    packed.add(name + "_scales", io::DType::kU8, {kExperts, rows, columns / 32}, scales);
    plain.add(name, io::DType::kF32, {kExperts, columns, rows},
              bytes_of(plain_form(blocks, scales, rows, columns)));
  };
  for (const ExpectedTensor& tensor : expected_tensors(family, family.read_config(read))) {
    const std::string& name = tensor.name;
    if (name.ends_with("experts.gate_up_proj")) {
      pack(name, 2 * kInner, kWidth, 1);
    } else if (name.ends_with("experts.down_proj")) {
      pack(name, kWidth, kInner, 5);
    } else {
      int64_t elements = 1;
      for (const int64_t length : tensor.shape) elements *= length;
      const std::vector<float> values(static_cast<size_t>(elements), 0.5f);
      for (Tensors* to : {&plain, &packed})
        to->add(name, io::DType::kF32, tensor.shape, bytes_of(values));
    }
  }
  const auto a = Model::open(plain.write("gpt-oss-plain", config)),
             b = Model::open(packed.write("gpt-oss-packed", config));
  EXPECT_EQ(a->weights().parameters(), b->weights().parameters());
  for (int64_t e = 0; e < kExperts; ++e) {
    Linear up_a, down_a, up_b, down_b;
    a->weights().load_expert(0, e, at::kFloat, up_a, down_a);
    b->weights().load_expert(0, e, at::kFloat, up_b, down_b);
    EXPECT_TRUE(at::equal(up_a.weight, up_b.weight)) << e;
    EXPECT_TRUE(at::equal(down_a.weight, down_b.weight)) << e;
    EXPECT_TRUE(at::equal(up_a.bias, up_b.bias)) << e;
  }
  // Without its scales, and with scales of another length.
  std::erase_if(packed.list, [](const auto& t) { return t.name.ends_with("down_proj_scales"); });
  const auto folder = sinkscope::test::scratch_directory("gpt-oss-no-scales");
  std::ofstream(folder / "config.json") << config;
  io::write_safetensors(folder / "model.safetensors", packed.list);
  io::test::expect_error(ErrorKind::kBadFile, {"down_proj_scales", "missing"},
                         [&] { Model::open(folder.string()); });
}

}  // namespace
}  // namespace sinkscope::model
