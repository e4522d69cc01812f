#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace sinkscope::image {

/// One picture as a vision transformer takes it.
struct Pixels {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  std::vector<float> values;  ///< [C, H, W]
};

/// Pictures that another program has already normalised, recognised by content:
/// - .npy, version 1 or 2, little-endian float16, float32 or float64 in C order;
/// - safetensors, the tensor "pixel_values" or the only one, of a float type.
/// The shape is [N, 3, H, W] or [3, H, W]; each of the N pictures becomes one element.
///
/// Throws kBadFile when the header does not agree with the size of the file or the shape is
/// another, kUnsupported for other element types and orders, kBadNumbers for a value that is not
/// finite.
std::vector<Pixels> read_pixels(const std::filesystem::path& file);

}  // namespace sinkscope::image
