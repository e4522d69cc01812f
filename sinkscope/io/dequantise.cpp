#include "sinkscope/io/dequantise.h"

#include <bit>

#include "sinkscope/base/error.h"
#include "sinkscope/io/dequantise_kernels.h"

namespace sinkscope::io {

static_assert(std::endian::native == std::endian::little, "the formats are little endian");

namespace {

template <typename T>
void convert(const std::byte* in, int64_t elements, float* out) {
  for (int64_t i = 0; i < elements; ++i) {
    T value;
    std::memcpy(&value, in + i * sizeof(T), sizeof(T));
    out[i] = static_cast<float>(value);
  }
}

}  // namespace

void dequantise(DType type, const std::byte* in, int64_t elements, float* out) {
  if (elements % block_elements(type)) {
    throw Error(ErrorKind::kInternal, "dequantise",
                std::to_string(elements) + " elements of " + std::string(dtype_name(type)));
  }
  const auto* bytes = reinterpret_cast<const uint8_t*>(in);
  const int64_t blocks = elements / block_elements(type);
  switch (type) {
    case DType::kF32:
      if (elements) std::memcpy(out, in, static_cast<size_t>(elements) * sizeof(float));
      return;
    case DType::kF64: return convert<double>(in, elements, out);
    case DType::kBool:
      for (int64_t i = 0; i < elements; ++i) out[i] = bytes[i] ? 1.0f : 0.0f;
      return;
    case DType::kU8: return convert<uint8_t>(in, elements, out);
    case DType::kI8: return convert<int8_t>(in, elements, out);
    case DType::kU16: return convert<uint16_t>(in, elements, out);
    case DType::kI16: return convert<int16_t>(in, elements, out);
    case DType::kU32: return convert<uint32_t>(in, elements, out);
    case DType::kI32: return convert<int32_t>(in, elements, out);
    case DType::kU64: return convert<uint64_t>(in, elements, out);
    case DType::kI64: return convert<int64_t>(in, elements, out);
    case DType::kF16:
    case DType::kBF16:
    case DType::kQ4_0:
    case DType::kQ4_1:
    case DType::kQ5_0:
    case DType::kQ5_1:
    case DType::kQ8_0:
    case DType::kQ2_K:
    case DType::kQ3_K:
    case DType::kQ4_K:
    case DType::kQ5_K:
    case DType::kQ6_K: return dequantise_linear(type, bytes, blocks, out);
    case DType::kIQ4_NL:
    case DType::kIQ4_XS:
    case DType::kMXFP4:
    case DType::kTQ1_0:
    case DType::kTQ2_0:
    case DType::kIQ2_XXS:
    case DType::kIQ2_XS:
    case DType::kIQ2_S:
    case DType::kIQ3_XXS:
    case DType::kIQ3_S:
    case DType::kIQ1_S:
    case DType::kIQ1_M: return dequantise_codebook(type, bytes, blocks, out);
  }
}

}  // namespace sinkscope::io
