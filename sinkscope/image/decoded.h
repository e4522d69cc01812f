#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sinkscope/image/image.h"

namespace sinkscope::image {

/// The operation in every message about an image file.
inline constexpr char kReadImage[] = "read image";

/// The picture as it is stored, and how to turn it upright.
struct Decoded {
  Image image;
  int orientation = 1;  ///< EXIF, 1 to 8
};

/// Throws as read_image does.
Decoded decode_png(std::span<const std::byte> bytes, const std::string& where);
Decoded decode_jpeg(std::span<const std::byte> bytes, const std::string& where);

/// Refuses a size that no reader should make room for: see the limits in image.h.
void check_dimensions(int64_t width, int64_t height, uint64_t file_bytes, const std::string& where);

/// The orientation in an EXIF block (a TIFF header and directories); 1 when it holds none that is
/// valid, as Pillow does.
int exif_orientation(std::span<const std::byte> tiff);

/// The picture turned as an EXIF orientation says. 1 is unchanged.
Image upright(Image image, int orientation);

}  // namespace sinkscope::image
