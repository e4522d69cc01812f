#include <fmt/format.h>
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <span>

#include "sinkscope/base/error.h"
#include "sinkscope/image/decoded.h"
#include "sinkscope/io/printable.h"

namespace sinkscope::image {

namespace {

// Text and colour profiles: nothing is read from them, so their contents need not be looked at.
constexpr png_byte kIgnoredChunks[] = "iCCP\0tEXt\0zTXt\0iTXt\0sPLT\0hIST";
constexpr int kIgnoredCount = sizeof kIgnoredChunks / 5;

/// libpng reports errors by longjmp. All its calls go through `guarded`, whose jump passes over
/// libpng's frames and ours below only; none of those holds an object with a destructor.
class PngReader {
 public:
  PngReader(std::span<const std::byte> bytes, const std::string& where)
      : bytes_(bytes), where_(where) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    info_ = png_ ? png_create_info_struct(png_) : nullptr;
    if (!info_) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw Error(ErrorKind::kTooLarge, kReadImage, where + ": no memory for the PNG reader");
    }
    png_set_read_fn(png_, this, on_read);
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  Decoded read() {
    read_header();
    Decoded decoded;
    decoded.image.width = png_get_image_width(png_, info_);
    decoded.image.height = png_get_image_height(png_, info_);
    check_dimensions(decoded.image.width, decoded.image.height, bytes_.size(), where_);
    const int passes = convert_to_rgb(decoded.image.width);
    read_rows(passes, decoded.image);
    guarded([this] { png_read_end(png_, info_); });
    decoded.orientation = orientation();
    return decoded;
  }

 private:
  static void on_error(png_structp png, png_const_charp text) {
    auto* self = static_cast<PngReader*>(png_get_error_ptr(png));
    std::strncpy(self->message_, text, sizeof self->message_ - 1);
    png_longjmp(png, 1);
  }

  static void on_warning(png_structp, png_const_charp) {}

  static void on_read(png_structp png, png_bytep out, size_t size) {
    auto* self = static_cast<PngReader*>(png_get_io_ptr(png));
    if (size > self->bytes_.size() - self->at_) {
      self->ended_ = true;
      png_error(png, "end of file");
    }
    std::memcpy(out, self->bytes_.data() + self->at_, size);
    self->at_ += size;
  }

  template <typename Action>
  void guarded(Action action) {
    if (setjmp(png_jmpbuf(png_))) refuse();
    action();
  }

  [[noreturn]] void refuse() const {
    if (ended_) {
      throw Error(ErrorKind::kBadFile, kReadImage,
                  fmt::format("{}: the file ends at byte {} in the middle of the picture", where_,
                              bytes_.size()),
                  "the download was probably cut short; fetch it again");
    }
    throw Error(
        ErrorKind::kBadFile, kReadImage,
        fmt::format("{}: PNG damaged before byte {}: {}", where_, at_, io::printable(message_)),
        "fetch it again, or open and save it with another program");
  }

  void read_header() {
    guarded([this] {
      png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, kIgnoredChunks, kIgnoredCount);
      png_set_benign_errors(png_, 1);
      // check_dimensions is the limit.
      png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
      png_read_info(png_, info_);
    });
  }

  /// Every colour type and depth becomes 8-bit RGB; returns the number of passes over the rows.
  int convert_to_rgb(int64_t width) {
    int passes = 1;
    size_t row_bytes = 0;
    guarded([&] {
      png_set_palette_to_rgb(png_);
      png_set_expand_gray_1_2_4_to_8(png_);
      png_set_strip_16(png_);
      png_set_gray_to_rgb(png_);
      png_set_strip_alpha(png_);
      passes = png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
      row_bytes = png_get_rowbytes(png_, info_);
    });
    if (row_bytes != static_cast<size_t>(width) * 3) {
      throw Error(
          ErrorKind::kInternal, kReadImage,
          fmt::format("{}: rows of {} bytes, {} are expected", where_, row_bytes, 3 * width));
    }
    return passes;
  }

  void read_rows(int passes, Image& image) {
    const size_t stride = static_cast<size_t>(image.width) * 3;
    // Grows with the rows that really come: memory that is reserved is not touched before.
    image.rgb.reserve(stride * image.height);
    for (int pass = 0; pass < passes; ++pass) {
      for (int64_t y = 0; y < image.height; ++y) {
        if (pass == 0) image.rgb.resize(stride * (y + 1));
        png_bytep row = image.rgb.data() + stride * y;
        guarded([this, row] { png_read_row(png_, row, nullptr); });
      }
    }
  }

  int orientation() {
    png_uint_32 size = 0;
    png_bytep exif = nullptr;
    guarded([&] { png_get_eXIf_1(png_, info_, &size, &exif); });
    return exif ? exif_orientation(std::as_bytes(std::span(exif, size))) : 1;
  }

  std::span<const std::byte> bytes_;
  const std::string& where_;
  size_t at_ = 0;
  bool ended_ = false;
  char message_[128] = {};
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

Decoded decode_png(std::span<const std::byte> bytes, const std::string& where) {
  return PngReader(bytes, where).read();
}

}  // namespace sinkscope::image
