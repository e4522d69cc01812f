#include "sinkscope/image/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sinkscope/base/error.h"
#include "sinkscope/image/decoded.h"
#include "sinkscope/io/foreign_file.h"
#include "sinkscope/io/mmap.h"
#include "sinkscope/io/printable.h"

namespace sinkscope::image {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n"sv;
constexpr std::string_view kJpeg = "\xff\xd8\xff"sv;
constexpr char kConvert[] = "PNG and JPEG are read; convert it to one of them";

struct Signature {
  size_t offset;
  std::string_view bytes;
  std::string_view format;
};

// clang-format off
constexpr Signature kOtherFormats[] = {
    {0, "GIF8"sv, "GIF"},
    {8, "WEBP"sv, "WebP"},
    {0, "BM"sv, "BMP"},
    {0, "II*\0"sv, "TIFF"},
    {0, "MM\0*"sv, "TIFF"},
    {0, "II+\0"sv, "TIFF"},
    {0, "MM\0+"sv, "TIFF"},
    {4, "ftypavif"sv, "AVIF"},
    {4, "ftypheic"sv, "HEIC"},
    {4, "ftyphei"sv, "HEIC"},
    {4, "ftyphevc"sv, "HEIC"},
    {4, "ftypmif1"sv, "HEIC"},
    {4, "ftypmsf1"sv, "HEIC"},
    {0, "\xff\x0a"sv, "JPEG XL"},
    {4, "JXL "sv, "JPEG XL"},
    {4, "jP  "sv, "JPEG 2000"},
    {0, "\xff\x4f\xff\x51"sv, "JPEG 2000"},
    {0, "8BPS"sv, "Photoshop"},
    {0, "%PDF"sv, "PDF"},
    {0, "\0\0\1\0"sv, "icon"},
    {0, "\x93NUMPY"sv, "numpy array"},
};
// clang-format on

[[noreturn]] void refuse_unrecognised(std::span<const std::byte> bytes, const std::string& where) {
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()),
                              std::min<size_t>(bytes.size(), 16));
  for (const Signature& other : kOtherFormats) {
    if (head.size() < other.offset || !head.substr(other.offset).starts_with(other.bytes)) continue;
    throw Error(ErrorKind::kUnsupported, kReadImage,
                fmt::format("{}: format {} is not supported", where, other.format), kConvert);
  }
  if (head.starts_with(kJpeg.substr(0, head.size())) ||
      head.starts_with(kPng.substr(0, head.size()))) {
    throw Error(ErrorKind::kBadFile, kReadImage,
                fmt::format("{}: the file ends at byte {}", where, bytes.size()),
                "the download was probably cut short; fetch it again");
  }
  throw Error(
      ErrorKind::kBadFile, kReadImage,
      fmt::format("{}: offset 0: no image format begins with \"{}\"", where, io::printable(head)),
      kConvert);
}

Decoded decode(std::span<const std::byte> bytes, const std::string& where) {
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()),
                              std::min<size_t>(bytes.size(), kPng.size()));
  if (head == kPng) return decode_png(bytes, where);
  if (head.starts_with(kJpeg)) return decode_jpeg(bytes, where);
  io::refuse_foreign(bytes, kReadImage, where);
  refuse_unrecognised(bytes, where);
}

}  // namespace

void check_dimensions(int64_t width, int64_t height, uint64_t file_bytes,
                      const std::string& where) {
  if (width <= 0 || height <= 0) {
    throw Error(ErrorKind::kBadFile, kReadImage,
                fmt::format("{}: {} x {} pixels, an image has at least one", where, width, height));
  }
  // The sides first: then the product cannot overflow.
  if (width > kMaxSide || height > kMaxSide || width * height > kMaxPixels) {
    throw Error(ErrorKind::kTooLarge, kReadImage,
                fmt::format("{}: {} x {} pixels; at most {} a side and {} in all are read", where,
                            width, height, io::grouped(kMaxSide), io::grouped(kMaxPixels)),
                "scale it down first");
  }
  if (static_cast<uint64_t>(width * height) / kMaxPixelsPerByte > file_bytes) {
    throw Error(ErrorKind::kBadFile, kReadImage,
                fmt::format("{}: announces {} x {} pixels, more than a file of {} bytes can hold",
                            where, width, height, io::grouped(file_bytes)),
                "the file is damaged or made to exhaust memory");
  }
}

Image decode_image(std::span<const std::byte> bytes, const std::string& where) {
  Decoded decoded = decode(bytes, where);
  return upright(std::move(decoded.image), decoded.orientation);
}

Image read_image(const std::filesystem::path& file) {
  const io::MappedFile mapped(file);
  return decode_image(mapped.bytes(), file.string());
}

}  // namespace sinkscope::image
