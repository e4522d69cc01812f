#include "sinkscope/io/tensor_source.h"

#include <fmt/format.h>

#include <iterator>

#include "sinkscope/base/error.h"
#include "sinkscope/io/dequantise.h"

namespace sinkscope::io {

namespace {

struct TypeFacts {
  std::string_view name;
  int64_t block_elements;
  int64_t block_bytes;
};

// clang-format off
constexpr TypeFacts kTypes[] = {  // in the order of DType
    {"F32", 1, 4}, {"F16", 1, 2}, {"BF16", 1, 2}, {"F64", 1, 8}, {"BOOL", 1, 1},
    {"U8", 1, 1}, {"I8", 1, 1}, {"U16", 1, 2}, {"I16", 1, 2},
    {"U32", 1, 4}, {"I32", 1, 4}, {"U64", 1, 8}, {"I64", 1, 8},
    {"Q4_0", 32, 18}, {"Q4_1", 32, 20}, {"Q5_0", 32, 22}, {"Q5_1", 32, 24}, {"Q8_0", 32, 34},
    {"Q2_K", 256, 84}, {"Q3_K", 256, 110}, {"Q4_K", 256, 144}, {"Q5_K", 256, 176},
    {"Q6_K", 256, 210},
    {"IQ4_NL", 32, 18}, {"IQ4_XS", 256, 136}, {"MXFP4", 32, 17},
    {"TQ1_0", 256, 54}, {"TQ2_0", 256, 66},
    {"IQ2_XXS", 256, 66}, {"IQ2_XS", 256, 74}, {"IQ2_S", 256, 82},
    {"IQ3_XXS", 256, 98}, {"IQ3_S", 256, 110}, {"IQ1_S", 256, 50}, {"IQ1_M", 256, 56},
};
// clang-format on
static_assert(std::size(kTypes) == static_cast<size_t>(DType::kIQ1_M) + 1);

const TypeFacts& facts(DType type) { return kTypes[static_cast<size_t>(type)]; }

}  // namespace

std::string_view dtype_name(DType type) { return facts(type).name; }
int64_t block_elements(DType type) { return facts(type).block_elements; }
int64_t block_bytes(DType type) { return facts(type).block_bytes; }

int64_t TensorInfo::elements() const {
  int64_t count = 1;
  for (const int64_t dimension : shape) count *= dimension;
  return count;
}

std::string TensorInfo::shape_text() const { return fmt::format("[{}]", fmt::join(shape, ", ")); }

const TensorInfo* TensorSource::index_tensors() {
  by_name_.reserve(tensors().size());
  for (const TensorInfo& tensor : tensors()) {
    if (!by_name_.emplace(tensor.name, &tensor).second) return &tensor;
  }
  return nullptr;
}

const TensorInfo* TensorSource::find(std::string_view name) const {
  if (!by_name_.empty()) {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }
  for (const TensorInfo& tensor : tensors()) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

void read_floats(const TensorSource& source, const TensorInfo& tensor, int64_t first,
                 std::span<float> out) {
  const int64_t block = block_elements(tensor.dtype);
  const int64_t count = static_cast<int64_t>(out.size());
  const int64_t elements = tensor.elements();
  if (first < 0 || count > elements || first > elements - count || first % block || count % block) {
    throw Error(ErrorKind::kInternal, "read tensor",
                fmt::format("{}: elements {} to {} of {}, in blocks of {}", tensor.name, first,
                            first + count, elements, block));
  }
  const std::span<const std::byte> bytes = source.bytes(tensor);
  dequantise(tensor.dtype, bytes.data() + first / block * block_bytes(tensor.dtype), count,
             out.data());
}

}  // namespace sinkscope::io
