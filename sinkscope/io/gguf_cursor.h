#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "sinkscope/base/error.h"
#include "sinkscope/io/printable.h"

namespace sinkscope::io {

/// Reads the fields of a GGUF header one after the other; every complaint names the file, the
/// subject (key or tensor) being read and the byte.
class GgufCursor {
 public:
  GgufCursor(std::span<const std::byte> bytes, std::string file)
      : bytes_(bytes), file_(std::move(file)) {}

  /// "key general.name"; empty: none.
  void set_subject(std::string subject) { subject_ = std::move(subject); }

  uint64_t position() const { return position_; }
  uint64_t remaining() const { return bytes_.size() - position_; }
  uint64_t size() const { return bytes_.size(); }

  /// The next field; `what` names it: "the value type".
  template <typename T>
  T number(std::string_view what) {
    if (remaining() < sizeof(T)) {
      refuse(position_, fmt::format("{} is missing, the file ends at byte {}", what, size()),
             ErrorKind::kBadFile, kCutShort);
    }
    T value;
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }

  /// A 64-bit length and that many bytes.
  std::string_view text(std::string_view what) {
    const uint64_t start = position_;
    const uint64_t length = number<uint64_t>(fmt::format("the length of {}", what));
    if (length > remaining()) {
      refuse(start,
             fmt::format("{} of {} bytes runs past the end of the file at byte {}", what,
                         grouped(length), size()),
             ErrorKind::kBadFile, kCutShort);
    }
    const std::string_view value(reinterpret_cast<const char*>(bytes_.data()) + position_, length);
    position_ += length;
    return value;
  }

  [[noreturn]] void refuse(uint64_t byte, std::string_view seen,
                           ErrorKind kind = ErrorKind::kBadFile, std::string_view hint = {}) const {
    throw Error(kind, "read GGUF header",
                subject_.empty() ? fmt::format("{}: byte {}: {}", file_, byte, seen)
                                 : fmt::format("{}: {}, byte {}: {}", file_, subject_, byte, seen),
                std::string(hint));
  }

  static constexpr std::string_view kCutShort =
      "the download was probably cut short; fetch the file again";

 private:
  std::span<const std::byte> bytes_;
  std::string file_;
  std::string subject_;
  uint64_t position_ = 0;
};

}  // namespace sinkscope::io
