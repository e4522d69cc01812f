#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sinkscope/image/decoded.h"
#include "sinkscope/image/image.h"
#include "tests/image/data.h"
#include "tests/io/files.h"

namespace sinkscope::image {
namespace {

using io::test::expect_error;
using test::image_data;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

Image decode(const std::string& text) { return decode_image(bytes_of(text), "a.png"); }

std::string big_endian(uint32_t value) {
  return {char(value >> 24), char(value >> 16), char(value >> 8), char(value)};
}

/// The file with another size in its header; the checksum then fits no longer, and is never
/// reached.
std::string png_of_size(uint32_t width, uint32_t height) {
  std::string file = io::test::read_file(image_data("rgb8.png"));
  return file.replace(16, 8, big_endian(width) + big_endian(height));
}

/// rgb.jpg announcing another size in its frame header.
std::string jpeg_of_size(int width, int height) {
  std::string file = io::test::read_file(image_data("rgb.jpg"));
  const size_t frame = file.find("\xff\xc0");
  return file.replace(frame + 5, 4,
                      {char(height >> 8), char(height), char(width >> 8), char(width)});
}

// Measured against Pillow 13.0 (libjpeg-turbo 3.2) with libjpeg-turbo 2.1.5 here: no difference in
// any picture. A JPEG library of another rounding may differ by 1.
TEST(Decode, EveryKindOfPictureIsWhatPillowReads) {
  const test::Expected expected("decoded.safetensors");
  ASSERT_GE(expected.all().size(), 40u);
  for (const io::TensorInfo& tensor : expected.all()) {
    SCOPED_TRACE(tensor.name);
    const Image image = read_image(image_data(tensor.name));
    ASSERT_EQ((std::vector<int64_t>{image.height, image.width, 3}), tensor.shape);
    const int tolerance = tensor.name.ends_with(".jpg") ? 1 : 0;
    const std::vector<uint8_t> wanted = expected.bytes(tensor);
    int worst = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
      worst = std::max(worst, std::abs(image.rgb[i] - wanted[i]));
    }
    EXPECT_LE(worst, tolerance);
  }
}

TEST(Decode, OrientationsMoveTheCornersAsExifSays) {
  // 3 x 2: a b c / d e f
  const Image image{3, 2, {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6}};
  const std::vector<std::pair<int, std::vector<int>>> wanted = {
      {1, {1, 2, 3, 4, 5, 6}}, {2, {3, 2, 1, 6, 5, 4}}, {3, {6, 5, 4, 3, 2, 1}},
      {4, {4, 5, 6, 1, 2, 3}}, {5, {1, 4, 2, 5, 3, 6}}, {6, {4, 1, 5, 2, 6, 3}},
      {7, {6, 3, 5, 2, 4, 1}}, {8, {3, 6, 2, 5, 1, 4}}};
  for (const auto& [orientation, pixels] : wanted) {
    const Image turned = upright(image, orientation);
    EXPECT_EQ(turned.width, orientation >= 5 ? 2 : 3);
    std::vector<int> red;
    for (size_t i = 0; i < turned.rgb.size(); i += 3) red.push_back(turned.rgb[i]);
    EXPECT_EQ(red, pixels) << orientation;
  }
}

TEST(Decode, ADamagedExifBlockIsIgnored) {
  std::string block("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0", 22);
  EXPECT_EQ(exif_orientation(bytes_of(block)), 6);
  for (size_t size = 0; size < block.size(); ++size) {
    EXPECT_EQ(exif_orientation(bytes_of(block.substr(0, size))), 1) << size;
  }
  block.replace(4, 4, "\xff\xff\xff\xff");
  EXPECT_EQ(exif_orientation(bytes_of(block)), 1);
}

TEST(Decode, EveryTruncationIsNamed) {
  for (const char* name : {"rgb8_interlaced.png", "palette4.png", "oriented_late.png", "grey.jpg",
                           "progressive.jpg", "cmyk.jpg", "orientation6.jpg", "restart.jpg"}) {
    SCOPED_TRACE(name);
    const std::string whole = io::test::read_file(image_data(name));
    for (size_t size = 0; size < whole.size(); ++size) {
      SCOPED_TRACE(size);
      const std::string part = whole.substr(0, size);
      expect_error(ErrorKind::kBadFile, {"read image", "cut.png"},
                   [&] { decode_image(bytes_of(part), "cut.png"); });
    }
    const std::string half = whole.substr(0, whole.size() * 3 / 4);
    expect_error(ErrorKind::kBadFile,
                 {"the file ends at byte " + std::to_string(half.size()), "cut short"},
                 [&] { decode(half); });
  }
}

TEST(Decode, EveryChangedByteIsRefusedOrStillAPicture) {
  const test::Expected expected("decoded.safetensors");
  for (const io::TensorInfo& tensor : expected.all()) {
    if (tensor.name == "photo.png") continue;
    std::string file = io::test::read_file(image_data(tensor.name));
    for (char& byte : file) {
      const char before = byte;
      byte = static_cast<char>(~byte);
      try {
        const Image image = decode(file);
        EXPECT_EQ(image.rgb.size(), static_cast<size_t>(image.width * image.height * 3));
      } catch (const Error& error) {
        EXPECT_NE(error.kind, ErrorKind::kInternal) << error.what();
      }
      byte = before;
    }
  }
}

TEST(Decode, AWrongChecksumIsDamage) {
  std::string file = io::test::read_file(image_data("rgb8.png"));
  file[file.find("IDAT") + 20] ^= 1;
  expect_error(ErrorKind::kBadFile, {"a.png: PNG damaged before byte", "IDAT"},
               [&] { decode(file); });
}

TEST(Decode, JpegDataThatEndInTheMiddleAreDamage) {
  // A marker in the middle of the scan: libjpeg would fill the rest with grey and only warn.
  std::string file = io::test::read_file(image_data("colour_444.jpg"));
  file.replace(file.size() - 100, 100, "\xff\xd9");
  expect_error(ErrorKind::kBadFile, {"a.png: JPEG damaged", "premature end"},
               [&] { decode(file); });
}

TEST(Decode, AbsurdSizesAreRefusedBeforeAnythingIsAllocated) {
  expect_error(ErrorKind::kTooLarge, {"2147483647 x 2147483647", "131,072"},
               [] { check_dimensions(2147483647, 2147483647, 1 << 20, "a.png"); });
  expect_error(ErrorKind::kTooLarge, {"100000 x 100000", "268,435,456"},
               [] { check_dimensions(100'000, 100'000, 1u << 30, "a.png"); });
  expect_error(ErrorKind::kBadFile, {"16000 x 16000", "more than a file of 10,000 bytes can hold"},
               [] { check_dimensions(16'000, 16'000, 10'000, "a.png"); });
  EXPECT_NO_THROW(check_dimensions(10'000, 10'000, 10'000, "a.png"));
  expect_error(ErrorKind::kBadFile, {"announces 30000 x 8000"},
               [] { decode(jpeg_of_size(30'000, 8'000)); });
  expect_error(ErrorKind::kBadFile, {"a.png"}, [] { decode(png_of_size(30'000, 8'000)); });
}

TEST(Decode, OtherFormatsAreNamed) {
  const auto expect = [](const std::string& bytes, const std::string& format) {
    expect_error(ErrorKind::kUnsupported, {"a.png: format " + format, "PNG and JPEG"},
                 [&] { decode(bytes); });
  };
  expect("GIF89a......", "GIF");
  expect("RIFF1234WEBPVP8 ", "WebP");
  expect("BM345678", "BMP");
  expect(std::string("II*\0....", 8), "TIFF");
  expect(std::string("MM\0*....", 8), "TIFF");
  expect(std::string("\0\0\0\x18"
                     "ftypheic",
                     12),
         "HEIC");
  expect(std::string("\0\0\0\x18"
                     "ftypavif",
                     12),
         "AVIF");
  expect_error(ErrorKind::kBadFile, {"is empty"}, [] { decode(""); });
  expect_error(ErrorKind::kBadFile, {"git-lfs pointer"},
               [] { decode("version https://git-lfs.github.com/spec/v1\noid"); });
  expect_error(ErrorKind::kBadFile, {"no image format begins with \"hello\""},
               [] { decode("hello"); });
}

TEST(Decode, RareKindsOfJpegAreUnsupportedNotDamaged) {
  std::string file = io::test::read_file(image_data("colour_444.jpg"));
  const size_t frame = file.find("\xff\xc0");
  std::string deep = file;
  deep[frame + 4] = 12;
  expect_error(ErrorKind::kUnsupported, {"this kind of JPEG", "precision 12"},
               [&] { decode(deep); });
  std::string lossless = file;
  lossless[frame + 1] = '\xc3';
  expect_error(ErrorKind::kUnsupported, {"this kind of JPEG"}, [&] { decode(lossless); });
}

TEST(Decode, AProgressiveJpegOfThousandsOfScansIsRefused) {
  // The last scan over and over: each repeats work for the whole picture.
  const std::string file = io::test::read_file(image_data("progressive.jpg"));
  const size_t last = file.rfind("\xff\xda");
  const std::string scan = file.substr(last, file.size() - 2 - last);
  std::string many = file.substr(0, last);
  for (int i = 0; i < 1000; ++i) many += scan;
  expect_error(ErrorKind::kUnsupported, {"more than 500 scans"},
               [&] { decode(many + "\xff\xd9"); });
}

TEST(Decode, AMissingFileIsNamed) {
  expect_error(ErrorKind::kBadFile, {"none.png"}, [] { read_image("none.png"); });
}

}  // namespace
}  // namespace sinkscope::image
