#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sinkscope::image {

/// Pillow's numbers, as preprocessor_config.json writes them.
enum class Resample {
  kNearest = 0,
  kLanczos = 1,
  kBilinear = 2,
  kBicubic = 3,
  kBox = 4,
  kHamming = 5,
};

struct Size {
  int64_t height = 0;
  int64_t width = 0;

  bool operator==(const Size&) const = default;
};

/// A picture in memory between steps, [height][width][3].
template <typename T>
struct Raster {
  Size size;
  std::vector<T> values;
};

/// The picture scaled to `to`, both sides at least 1. The filter's support grows when scaling down
/// (antialiasing); the horizontal pass comes first.
///
/// uint8_t is Pillow's Image.resize (before version 13, which exchanges the passes where that is
/// less work) bit for bit: weights of 22 fractional bits, rounded and clipped after each pass.
/// float keeps what lies between and beyond, as torchvision does with float images.
template <typename T>
Raster<T> resize(const Raster<T>& from, Size to, Resample filter);

}  // namespace sinkscope::image
