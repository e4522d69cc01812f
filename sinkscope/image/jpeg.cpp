// jpeglib.h needs size_t and FILE declared before it, jerror.h the settings of jpeglib.h.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include <fmt/format.h>

#include <csetjmp>
#include <cstring>
#include <span>
#include <vector>

#include "sinkscope/base/error.h"
#include "sinkscope/image/decoded.h"
#include "sinkscope/io/printable.h"

namespace sinkscope::image {

namespace {

// A progressive file may repeat the work for the whole picture in each of its scans; programs write
// about ten.
constexpr int kMaxScans = 500;

/// Warnings after which libjpeg invents pixels. The others (padding between segments, an odd
/// profile, scans in an unusual order) leave the picture as it was meant.
bool is_damage(int code) {
  switch (code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC: return true;
    default: return false;
  }
}

bool is_unsupported(int code) {
  switch (code) {
    case JERR_BAD_PRECISION:
    case JERR_SOF_UNSUPPORTED:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_NOTIMPL:
    case JERR_NOT_COMPILED: return true;
    default: return false;
  }
}

// a times b / 255, rounded as Pillow does; at most b.
int share(int a, int b) {
  const int product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

/// `cmyk` as Adobe stores it: 255 is no ink.
void cmyk_row_to_rgb(const uint8_t* cmyk, int64_t width, uint8_t* rgb) {
  for (int64_t x = 0; x < width; ++x, cmyk += 4, rgb += 3) {
    const int white = cmyk[3];
    for (int c = 0; c < 3; ++c) {
      rgb[c] = static_cast<uint8_t>(white - share(255 - cmyk[c], white));
    }
  }
}

/// libjpeg reports errors by longjmp. All its calls go through `guarded`, whose jump passes over
/// libjpeg's frames and ours below only; none of those holds an object with a destructor.
class JpegReader {
 public:
  JpegReader(std::span<const std::byte> bytes, const std::string& where)
      : bytes_(bytes), where_(where) {
    jpeg_.err = jpeg_std_error(&errors_);
    errors_.error_exit = on_error;
    errors_.emit_message = on_message;
    jpeg_.client_data = this;
    progress_.progress_monitor = on_progress;
    guarded([this] {
      jpeg_create_decompress(&jpeg_);
      jpeg_.progress = &progress_;
    });
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }

  Decoded read() {
    guarded([this] {
      jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
      jpeg_save_markers(&jpeg_, JPEG_APP0 + 1, 0xFFFF);
      jpeg_read_header(&jpeg_, TRUE);
    });
    check_dimensions(jpeg_.image_width, jpeg_.image_height, bytes_.size(), where_);
    choose_colours();
    Decoded decoded;
    decoded.image.width = jpeg_.image_width;
    decoded.image.height = jpeg_.image_height;
    decoded.orientation = orientation();
    read_rows(decoded.image);
    return decoded;
  }

 private:
  static JpegReader& self(j_common_ptr jpeg) {
    return *static_cast<JpegReader*>(jpeg->client_data);
  }

  static void on_error(j_common_ptr jpeg) {
    jpeg->err->format_message(jpeg, self(jpeg).message_);
    std::longjmp(self(jpeg).jump_, 1);
  }

  static void on_message(j_common_ptr jpeg, int level) {
    if (level < 0 && is_damage(jpeg->err->msg_code)) on_error(jpeg);
  }

  static void on_progress(j_common_ptr jpeg) {
    if (self(jpeg).jpeg_.input_scan_number <= kMaxScans) return;
    self(jpeg).too_many_scans_ = true;
    std::longjmp(self(jpeg).jump_, 1);
  }

  template <typename Action>
  void guarded(Action action) {
    if (setjmp(jump_)) refuse();
    action();
  }

  [[noreturn]] void refuse() const {
    if (too_many_scans_) {
      throw Error(ErrorKind::kUnsupported, kReadImage,
                  fmt::format("{}: JPEG with more than {} scans", where_, kMaxScans),
                  "open and save it with another program");
    }
    if (errors_.msg_code == JWRN_JPEG_EOF || errors_.msg_code == JERR_INPUT_EOF) {
      throw Error(ErrorKind::kBadFile, kReadImage,
                  fmt::format("{}: the file ends at byte {} in the middle of the picture", where_,
                              bytes_.size()),
                  "the download was probably cut short; fetch it again");
    }
    const bool unsupported = is_unsupported(errors_.msg_code);
    throw Error(unsupported ? ErrorKind::kUnsupported : ErrorKind::kBadFile, kReadImage,
                fmt::format("{}: {}: {}", where_,
                            unsupported ? "this kind of JPEG is not supported" : "JPEG damaged",
                            io::printable(message_)),
                "open and save it with another program");
  }

  void choose_colours() {
    if (jpeg_.num_components != 1 && jpeg_.num_components != 3 && jpeg_.num_components != 4) {
      throw Error(ErrorKind::kUnsupported, kReadImage,
                  fmt::format("{}: JPEG of {} components; grey, colour and CMYK are read", where_,
                              jpeg_.num_components));
    }
    jpeg_.out_color_space = jpeg_.num_components == 4 ? JCS_CMYK : JCS_RGB;
  }

  void read_rows(Image& image) {
    const size_t stride = static_cast<size_t>(image.width) * 3;
    const bool cmyk = jpeg_.out_color_space == JCS_CMYK;
    std::vector<uint8_t> inks(cmyk ? static_cast<size_t>(image.width) * 4 : 0);
    guarded([this] { jpeg_start_decompress(&jpeg_); });
    // Grows with the rows that really come: memory that is reserved is not touched before.
    image.rgb.reserve(stride * image.height);
    for (int64_t y = 0; y < image.height; ++y) {
      image.rgb.resize(stride * (y + 1));
      uint8_t* rgb = image.rgb.data() + stride * y;
      JSAMPROW row = cmyk ? inks.data() : rgb;
      guarded([this, &row] { jpeg_read_scanlines(&jpeg_, &row, 1); });
      if (cmyk) cmyk_row_to_rgb(inks.data(), image.width, rgb);
    }
    guarded([this] { jpeg_finish_decompress(&jpeg_); });
  }

  int orientation() const {
    constexpr char kExif[] = "Exif\0";
    for (auto* marker = jpeg_.marker_list; marker; marker = marker->next) {
      if (marker->data_length < sizeof kExif || std::memcmp(marker->data, kExif, sizeof kExif)) {
        continue;
      }
      const std::span<const JOCTET> block(marker->data, marker->data_length);
      return exif_orientation(std::as_bytes(block.subspan(sizeof kExif)));
    }
    return 1;
  }

  std::span<const std::byte> bytes_;
  const std::string& where_;
  bool too_many_scans_ = false;
  char message_[JMSG_LENGTH_MAX] = {};
  std::jmp_buf jump_;
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr progress_ = {};
  jpeg_decompress_struct jpeg_ = {};
};

}  // namespace

Decoded decode_jpeg(std::span<const std::byte> bytes, const std::string& where) {
  return JpegReader(bytes, where).read();
}

}  // namespace sinkscope::image
