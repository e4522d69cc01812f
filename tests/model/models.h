#pragma once

#include <ATen/core/Tensor.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "sinkscope/model/model.h"
#include "tests/io/files.h"
#include "tests/support/paths.h"

namespace sinkscope::model::test {

using io::test::expect_error;
using io::test::read_file;
using io::test::write_file;
using sinkscope::test::data_path;
using sinkscope::test::scratch_directory;

/// Same type, shape and bits; two undefined tensors are equal.
inline bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && a.is_contiguous() &&
         b.is_contiguous() &&
         std::memcmp(a.data_ptr(), b.data_ptr(),
                     static_cast<size_t>(a.numel()) * a.element_size()) == 0;
}

inline std::vector<float> floats(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.to(at::kFloat).contiguous();
  return {plain.data_ptr<float>(), plain.data_ptr<float>() + plain.numel()};
}

/// Every tensor of a block with its name, for comparing two blocks.
inline std::vector<std::pair<std::string, at::Tensor>> tensors_of(const BlockWeights& block) {
  return {{"norm1", block.norm1.gain}, {"norm1 bias", block.norm1.bias},
          {"norm2", block.norm2.gain}, {"norm2 bias", block.norm2.bias},
          {"qkv", block.qkv.weight},   {"qkv bias", block.qkv.bias},
          {"o", block.o.weight},       {"o bias", block.o.bias},
          {"up", block.up.weight},     {"up bias", block.up.bias},
          {"down", block.down.weight}, {"down bias", block.down.bias}};
}

inline void expect_same_weights(const Model& a, const Model& b) {
  ASSERT_EQ(a.spec().layers, b.spec().layers);
  for (int64_t layer = 0; layer < a.spec().layers; ++layer) {
    BlockWeights of_a, of_b;
    a.weights().load_block(layer, at::kFloat, of_a);
    b.weights().load_block(layer, at::kFloat, of_b);
    const auto left = tensors_of(of_a), right = tensors_of(of_b);
    for (size_t i = 0; i < left.size(); ++i) {
      EXPECT_TRUE(same_bits(left[i].second, right[i].second))
          << "block " << layer << ", " << left[i].first;
    }
  }
  EXPECT_TRUE(same_bits(a.weights().load_norm("final_norm").gain,
                        b.weights().load_norm("final_norm").gain));
  EXPECT_TRUE(same_bits(a.weights().load_norm("final_norm").bias,
                        b.weights().load_norm("final_norm").bias));
  EXPECT_TRUE(same_bits(a.weights().load_head(at::kFloat).weight,
                        b.weights().load_head(at::kFloat).weight));
  std::vector<int32_t> ids(static_cast<size_t>(a.spec().vocabulary));
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i);
  EXPECT_TRUE(same_bits(a.weights().rows("embed", ids), b.weights().rows("embed", ids)));
}

}  // namespace sinkscope::model::test
