#pragma once

#include <cstdint>
#include <cstring>

#include "sinkscope/base/float_types.h"
#include "sinkscope/io/tensor_source.h"

namespace sinkscope::io {

/// The two halves of `dequantise`: types whose values are scale x code (+ offset), compiled for
/// several instruction sets, and types that look values up. `blocks` blocks from `in`.
void dequantise_linear(DType type, const uint8_t* in, int64_t blocks, float* out);
void dequantise_codebook(DType type, const uint8_t* in, int64_t blocks, float* out);

/// Fields of a block lie at any address.
inline uint16_t u16_at(const uint8_t* bytes) {
  uint16_t value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}
inline uint32_t u32_at(const uint8_t* bytes) {
  uint32_t value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}
inline float half_at(const uint8_t* bytes) { return half_to_float(u16_at(bytes)); }

}  // namespace sinkscope::io
