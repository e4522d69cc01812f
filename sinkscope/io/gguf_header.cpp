#include "sinkscope/io/gguf_header.h"

#include <algorithm>

#include "sinkscope/io/foreign_file.h"
#include "sinkscope/io/gguf_cursor.h"
#include "sinkscope/io/gguf_metadata.h"
#include "sinkscope/io/gguf_tensors.h"
#include "sinkscope/io/printable.h"

namespace sinkscope::io {

namespace {

// The shortest key (length, one letter, type, one byte) and the shortest tensor description
// (length, one letter, no dimensions, type, offset): more of them than fit are refused unread.
constexpr uint64_t kLeastKeyBytes = 8 + 1 + 4 + 1;
constexpr uint64_t kLeastTensorBytes = 8 + 1 + 4 + 4 + 8;

void check_magic(GgufCursor& cursor, std::span<const std::byte> bytes, const std::string& file) {
  const std::string_view magic(reinterpret_cast<const char*>(bytes.data()),
                               std::min<size_t>(bytes.size(), 4));
  if (magic != "GGUF") {
    refuse_foreign(bytes, "read GGUF header", file);
    for (const std::string_view old : {"lmgg", "fmgg", "tjgg", "algg"}) {
      if (magic != old) continue;
      cursor.refuse(0, "a GGML file of before GGUF", ErrorKind::kBadFile,
                    "convert it to GGUF, or fetch a GGUF file of the model");
    }
    cursor.refuse(
        0, fmt::format("not a GGUF file: found \"{}\" instead of \"GGUF\"", printable(magic)));
  }
  cursor.number<uint32_t>("the magic");
}

void check_version(GgufCursor& cursor) {
  const uint64_t start = cursor.position();
  const auto version = cursor.number<uint32_t>("the version");
  if (version == 2 || version == 3) return;
  const uint32_t swapped = __builtin_bswap32(version);
  if (swapped >= 1 && swapped <= 3) {
    cursor.refuse(start,
                  fmt::format("version {} in big-endian order: the file looks big-endian, "
                              "which is not supported",
                              swapped),
                  ErrorKind::kUnsupported, "use the little-endian file of the model");
  }
  cursor.refuse(start, fmt::format("GGUF version {} not supported, only 2 and 3", version),
                ErrorKind::kUnsupported, "convert the model again with a current version");
}

void check_count(const GgufCursor& cursor, uint64_t count, std::string_view what, uint64_t byte,
                 uint64_t least_bytes) {
  if (count <= cursor.remaining() / least_bytes) return;
  cursor.refuse(byte,
                fmt::format("{} {} cannot fit in a file of {} bytes", grouped(count), what,
                            grouped(cursor.size())),
                ErrorKind::kBadFile, GgufCursor::kCutShort);
}

}  // namespace

GgufHeader read_gguf_header(std::span<const std::byte> bytes, const std::string& file) {
  GgufHeader header;
  GgufCursor cursor(bytes, file);
  check_magic(cursor, bytes, file);
  check_version(cursor);
  const uint64_t counts = cursor.position();
  const auto tensors = cursor.number<uint64_t>("the number of tensors");
  const auto keys = cursor.number<uint64_t>("the number of keys");
  check_count(cursor, tensors, "tensors", counts, kLeastTensorBytes);
  check_count(cursor, keys, "keys", counts + sizeof tensors, kLeastKeyBytes);
  read_gguf_keys(cursor, keys, header);
  read_gguf_tensors(cursor, tensors, header);
  return header;
}

}  // namespace sinkscope::io
