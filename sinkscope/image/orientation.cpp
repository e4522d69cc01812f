#include <utility>

#include "sinkscope/image/decoded.h"

namespace sinkscope::image {

namespace {

/// Unsigned fields of a TIFF structure, in the byte order that its header announces.
class TiffFields {
 public:
  TiffFields(std::span<const std::byte> bytes, bool little) : bytes_(bytes), little_(little) {}

  bool holds(uint64_t offset, uint64_t size) const {
    return offset <= bytes_.size() && size <= bytes_.size() - offset;
  }
  /// Only where holds(offset, size).
  uint32_t read(uint64_t offset, int size) const {
    uint32_t value = 0;
    for (int i = 0; i < size; ++i) {
      const uint64_t at = offset + (little_ ? size - 1 - i : i);
      value = value << 8 | std::to_integer<uint32_t>(bytes_[at]);
    }
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  bool little_;
};

// Bytes of an integer field's value by its TIFF type: byte, short, long.
int value_bytes(uint32_t type) { return type == 1 ? 1 : type == 3 ? 2 : type == 4 ? 4 : 0; }

}  // namespace

int exif_orientation(std::span<const std::byte> tiff) {
  constexpr uint32_t kOrientationTag = 0x0112;
  if (tiff.size() < 8) return 1;
  const bool little = tiff[0] == std::byte{'I'};
  const TiffFields fields(tiff, little);
  if (fields.read(0, 2) != (little ? 0x4949u : 0x4D4Du) || fields.read(2, 2) != 42) return 1;
  const uint64_t directory = fields.read(4, 4);
  if (!fields.holds(directory, 2)) return 1;
  const uint32_t entries = fields.read(directory, 2);
  for (uint32_t i = 0; i < entries; ++i) {
    const uint64_t entry = directory + 2 + 12 * uint64_t{i};
    if (!fields.holds(entry, 12)) return 1;
    if (fields.read(entry, 2) != kOrientationTag) continue;
    const int size = value_bytes(fields.read(entry + 2, 2));
    const uint32_t value = size ? fields.read(entry + 8, size) : 1;
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Image upright(Image image, int orientation) {
  if (orientation == 1) return image;
  // As EXIF counts: 5 to 8 exchange rows and columns; then each side may be mirrored.
  const bool transpose = orientation >= 5;
  const bool mirror_x =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool mirror_y =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image out;
  out.width = transpose ? image.height : image.width;
  out.height = transpose ? image.width : image.height;
  out.rgb.resize(image.rgb.size());
  uint8_t* to = out.rgb.data();
  for (int64_t y = 0; y < out.height; ++y) {
    for (int64_t x = 0; x < out.width; ++x, to += 3) {
      int64_t from_x = transpose ? y : x;
      int64_t from_y = transpose ? x : y;
      if (mirror_x) from_x = image.width - 1 - from_x;
      if (mirror_y) from_y = image.height - 1 - from_y;
      const uint8_t* from = image.rgb.data() + 3 * (from_y * image.width + from_x);
      to[0] = from[0], to[1] = from[1], to[2] = from[2];
    }
  }
  return out;
}

}  // namespace sinkscope::image
