#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace sinkscope::image {

/// Neither side of an image may be longer.
inline constexpr int64_t kMaxSide = int64_t{1} << 17;
/// More pixels are refused (kTooLarge) before anything is allocated for them: 800 MB of RGB.
inline constexpr int64_t kMaxPixels = int64_t{1} << 28;
/// No file of n bytes decodes to more than this times n pixels. Deflate reaches 1032 bytes per
/// byte, which are 8256 pixels of one bit; a Huffman-coded JPEG stays below 1000.
inline constexpr int64_t kMaxPixelsPerByte = 10'000;

/// Eight-bit RGB, row by row.
struct Image {
  int64_t width = 0;
  int64_t height = 0;
  std::vector<uint8_t> rgb;  ///< [height][width][3]
};

/// A PNG or JPEG file, recognised by its content, upright (EXIF orientation applied), as RGB.
///
/// The pixels are those of Pillow's `ImageOps.exif_transpose(Image.open(f)).convert("RGB")`: alpha
/// is dropped without blending, gamma and colour profiles are ignored, 16 bits keep the high byte,
/// CMYK is taken as Adobe writes it (inverted). One difference: 16-bit grey keeps the high byte
/// too, where Pillow makes everything above 255 white.
///
/// Throws kBadFile for a file that is missing, cut short or damaged, or whose size cannot hold the
/// picture it announces; kUnsupported for other formats, by name, and for rare kinds of JPEG;
/// kTooLarge above kMaxSide or kMaxPixels.
Image read_image(const std::filesystem::path& file);

/// The same from memory. `where` names the input in messages.
Image decode_image(std::span<const std::byte> bytes, const std::string& where);

}  // namespace sinkscope::image
