#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sinkscope/io/tensor_source.h"

namespace sinkscope::image {

/// An array inside the bytes of a .npy file.
struct NpyArray {
  io::DType dtype = io::DType::kF32;  ///< kF16, kF32 or kF64, little endian
  std::vector<int64_t> shape;
  std::span<const std::byte> data;  ///< exactly the elements, C order
};

bool is_npy(std::span<const std::byte> bytes);

/// `bytes` is the whole file, which the array must fill exactly. Throws kBadFile for a header that
/// cannot be read or a size that disagrees; kUnsupported for version 3 and later, other element
/// types, big endian and Fortran order.
NpyArray read_npy(std::span<const std::byte> bytes, const std::string& where);

}  // namespace sinkscope::image
