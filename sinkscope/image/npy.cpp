#include "sinkscope/image/npy.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "sinkscope/base/error.h"
#include "sinkscope/io/printable.h"

namespace sinkscope::image {

namespace {

using namespace std::string_view_literals;

constexpr char kOperation[] = "read numpy array";
constexpr std::string_view kMagic = "\x93NUMPY"sv;
constexpr size_t kMaxHeader = 65'536;
constexpr size_t kMaxDimensions = 32;  // numpy's own limit for long

/// The header is a Python dictionary of three known keys; nothing else of Python is understood.
class HeaderText {
 public:
  HeaderText(std::string_view text, size_t offset, const std::string& where)
      : text_(text), offset_(offset), where_(where) {}

  [[noreturn]] void refuse(const std::string& seen) const {
    throw Error(ErrorKind::kBadFile, kOperation,
                fmt::format("{}: offset {}: {}", where_, offset_ + at_, seen));
  }

  bool take(char wanted) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) refuse(fmt::format("'{}' is expected in the header", wanted));
  }
  std::string_view quoted() {
    skip_spaces();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') refuse("quoted text is expected in the header");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == text_.npos) refuse("quoted text without an end");
    const std::string_view out = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return out;
  }
  bool flag() {
    skip_spaces();
    for (const auto& [word, value] : {std::pair{"True"sv, true}, std::pair{"False"sv, false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    refuse("True or False is expected");
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> out;
    expect('(');
    while (!take(')')) {
      out.push_back(number());
      if (out.size() > kMaxDimensions) refuse("the shape has too many dimensions");
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return out;
  }
  void expect_end() {
    skip_spaces();
    if (at_ != text_.size()) refuse("the header goes on after its end");
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  int64_t number() {
    skip_spaces();
    int64_t value = -1;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) refuse("a size is expected in the shape");
    at_ += end - begin;
    return value;
  }

  std::string_view text_;
  size_t offset_;
  const std::string& where_;
  size_t at_ = 0;
};

struct Header {
  std::optional<std::string_view> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<int64_t>> shape;
};

Header parse_header(HeaderText text) {
  Header out;
  text.expect('{');
  while (!text.take('}')) {
    const std::string_view key = text.quoted();
    text.expect(':');
    if (key == "descr") {
      out.descr = text.quoted();
    } else if (key == "fortran_order") {
      out.fortran_order = text.flag();
    } else if (key == "shape") {
      out.shape = text.tuple();
    } else {
      text.refuse(fmt::format("unknown key {} in the header", io::printable(key)));
    }
    if (!text.take(',')) {
      text.expect('}');
      break;
    }
  }
  text.expect_end();
  if (!out.descr || !out.fortran_order || !out.shape) {
    text.refuse("the header lacks one of descr, fortran_order and shape");
  }
  return out;
}

io::DType read_descr(std::string_view descr, const std::string& where) {
  if (descr == "<f2") return io::DType::kF16;
  if (descr == "<f4") return io::DType::kF32;
  if (descr == "<f8") return io::DType::kF64;
  throw Error(ErrorKind::kUnsupported, kOperation,
              fmt::format("{}: element type {} is not supported", where, io::printable(descr)),
              "save it as little-endian floats: numpy.save(f, a.astype('<f4'))");
}

/// Where header and data lie.
struct Parts {
  std::string_view header;
  size_t header_offset = 0;
  std::span<const std::byte> data;
};

Parts split(std::span<const std::byte> bytes, const std::string& where) {
  const auto byte = [&](size_t i) { return std::to_integer<size_t>(bytes[i]); };
  if (bytes.size() < 8) {
    throw Error(ErrorKind::kBadFile, kOperation,
                fmt::format("{}: the file ends at byte {}", where, bytes.size()));
  }
  if (byte(6) != 1 && byte(6) != 2) {
    throw Error(
        ErrorKind::kUnsupported, kOperation,
        fmt::format("{}: npy version {}.{}; 1 and 2 are supported", where, byte(6), byte(7)));
  }
  const size_t start = byte(6) == 1 ? 10 : 12;
  size_t length = 0;
  for (size_t i = start; bytes.size() >= start && i > 8; --i) length = length << 8 | byte(i - 1);
  if (bytes.size() < start || length > bytes.size() - start || length > kMaxHeader) {
    throw Error(ErrorKind::kBadFile, kOperation,
                fmt::format("{}: offset 8: header of {} bytes in a file of {}", where, length,
                            bytes.size()));
  }
  const auto* text = reinterpret_cast<const char*>(bytes.data() + start);
  return {{text, length}, start, bytes.subspan(start + length)};
}

}  // namespace

bool is_npy(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagic.size() &&
         std::string_view(reinterpret_cast<const char*>(bytes.data()), kMagic.size()) == kMagic;
}

NpyArray read_npy(std::span<const std::byte> bytes, const std::string& where) {
  const Parts parts = split(bytes, where);
  const Header header = parse_header(HeaderText(parts.header, parts.header_offset, where));
  NpyArray out{read_descr(*header.descr, where), *header.shape, parts.data};
  if (*header.fortran_order) {
    throw Error(ErrorKind::kUnsupported, kOperation, where + ": Fortran order is not supported",
                "save it as numpy.ascontiguousarray(a)");
  }
  uint64_t expected = io::block_bytes(out.dtype);
  bool fits = true;
  for (const int64_t size : out.shape) {
    fits = fits && !__builtin_mul_overflow(expected, static_cast<uint64_t>(size), &expected);
  }
  if (!fits || expected != out.data.size()) {
    throw Error(ErrorKind::kBadFile, kOperation,
                fmt::format("{}: shape [{}] needs {} bytes of data, the file holds {}", where,
                            fmt::join(out.shape, ", "), fits ? io::grouped(expected) : "too many",
                            io::grouped(out.data.size())));
  }
  return out;
}

}  // namespace sinkscope::image
