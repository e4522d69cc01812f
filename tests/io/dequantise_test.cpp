#include "sinkscope/io/dequantise.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <set>

#include "sinkscope/base/error.h"
#include "sinkscope/io/gguf.h"
#include "sinkscope/io/safetensors.h"
#include "tests/support/paths.h"

namespace sinkscope::io {
namespace {

std::vector<float> floats(const TensorSource& source, const TensorInfo& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  read_floats(source, tensor, 0, values);
  return values;
}

TEST(Dequantise, EveryGgufTypeHasTheBitsOfTheReference) {
  SINKSCOPE_DATA_OR_SKIP(file, "gguf/types/types.gguf");
  SINKSCOPE_DATA_OR_SKIP(expected_file, "gguf/types/types.expected.safetensors");
  const auto source = GgufFile::open(file);
  const auto expected = open_safetensors(expected_file);
  ASSERT_EQ(source->tensors().size(), expected->tensors().size());
  std::set<DType> types;
  for (const TensorInfo& tensor : source->tensors()) {
    SCOPED_TRACE(tensor.name);
    types.insert(tensor.dtype);
    EXPECT_TRUE(tensor.name.starts_with(dtype_name(tensor.dtype)));
    const TensorInfo* reference = expected->find(tensor.name);
    ASSERT_NE(reference, nullptr);
    ASSERT_EQ(tensor.shape, reference->shape);
    const std::vector<float> got = floats(*source, tensor), want = floats(*expected, *reference);
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(want[i]))
          << "element " << i << ": " << got[i] << " instead of " << want[i];
    }
  }
  EXPECT_EQ(types.size(), 25u);
}

TEST(Dequantise, APartEqualsTheSamePartOfTheWhole) {
  SINKSCOPE_DATA_OR_SKIP(file, "gguf/types/types.gguf");
  const auto source = GgufFile::open(file);
  for (const TensorInfo& tensor : source->tensors()) {
    SCOPED_TRACE(tensor.name);
    const std::vector<float> whole = floats(*source, tensor);
    const int64_t block = block_elements(tensor.dtype);
    std::vector<float> part(static_cast<size_t>(block));
    read_floats(*source, tensor, block, part);
    EXPECT_EQ(0, std::memcmp(part.data(), whole.data() + block, part.size() * sizeof(float)));
  }
}

TEST(Dequantise, HalvesAtOddAddressesAndInAnyNumber) {
  // Every half-precision number, read from an odd address: the vector loop, its tail and the
  // conversion of one value must agree.
  std::vector<std::byte> bytes(1 + 2 * 65536);
  for (uint32_t bits = 0; bits < 65536; ++bits) std::memcpy(&bytes[1 + 2 * bits], &bits, 2);
  std::vector<float> all(65536);
  dequantise(DType::kF16, bytes.data() + 1, 65536, all.data());
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float one = 0;
    dequantise(DType::kF16, bytes.data() + 1 + 2 * bits, 1, &one);
    if (one != one) {
      EXPECT_TRUE(all[bits] != all[bits]) << bits;
    } else {
      EXPECT_EQ(std::bit_cast<uint32_t>(one), std::bit_cast<uint32_t>(all[bits])) << bits;
    }
  }
  EXPECT_EQ(all[1], 0x1p-24f);
  EXPECT_EQ(all[0x3C00], 1.0f);
  EXPECT_EQ(all[0x7BFF], 65504.0f);
  EXPECT_EQ(std::bit_cast<uint32_t>(all[0x8000]), 0x80000000u);
}

TEST(Dequantise, PlainTypesAreConverted) {
  const auto one = [](DType type, auto value) {
    float out = 0;
    dequantise(type, reinterpret_cast<const std::byte*>(&value), 1, &out);
    return out;
  };
  EXPECT_EQ(one(DType::kF32, 1.5f), 1.5f);
  EXPECT_EQ(one(DType::kF64, -2.25), -2.25f);
  EXPECT_EQ(one(DType::kBF16, uint16_t{0xC040}), -3.0f);
  EXPECT_EQ(one(DType::kBool, uint8_t{1}), 1.0f);
  EXPECT_EQ(one(DType::kU8, uint8_t{200}), 200.0f);
  EXPECT_EQ(one(DType::kI8, int8_t{-56}), -56.0f);
  EXPECT_EQ(one(DType::kU16, uint16_t{65535}), 65535.0f);
  EXPECT_EQ(one(DType::kI16, int16_t{-2}), -2.0f);
  EXPECT_EQ(one(DType::kU32, uint32_t{4000000000}), 4e9f);
  EXPECT_EQ(one(DType::kI32, int32_t{-7}), -7.0f);
  EXPECT_EQ(one(DType::kU64, uint64_t{1} << 63), 0x1p63f);
  EXPECT_EQ(one(DType::kI64, int64_t{-9}), -9.0f);
}

TEST(Dequantise, PartsOfBlocksAndPlacesOutsideAreOurOwnMistakes) {
  SINKSCOPE_DATA_OR_SKIP(file, "gguf/types/types.gguf");
  const auto source = GgufFile::open(file);
  const TensorInfo* tensor = source->find("Q4_K");
  ASSERT_NE(tensor, nullptr);
  std::vector<float> out(256);
  EXPECT_THROW(read_floats(*source, *tensor, 32, out), Error);
  EXPECT_THROW(read_floats(*source, *tensor, tensor->elements(), out), Error);
  EXPECT_THROW(read_floats(*source, *tensor, 0, std::span(out).first(100)), Error);
}

}  // namespace
}  // namespace sinkscope::io
