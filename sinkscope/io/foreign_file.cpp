#include "sinkscope/io/foreign_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "sinkscope/base/error.h"

namespace sinkscope::io {

namespace {

struct Recognised {
  std::string what;
  std::string hint;
};

constexpr std::string_view kConvert =
    "convert it to safetensors with `save_pretrained(..., safe_serialization=True)`, or fetch the "
    "model.safetensors of the same model";

bool is_web_page(std::string_view head) {
  const size_t start = head.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return false;
  std::string begin(head.substr(start, 15));
  std::transform(begin.begin(), begin.end(), begin.begin(),
                 [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  return begin.starts_with("<!doctype html") || begin.starts_with("<html");
}

bool is_pickle(std::string_view head) {
  // PROTO opcode and version; protocol 4 and later go on with a FRAME opcode, the older ones with a
  // long, a dictionary, a module or a mark.
  if (head.size() < 3 || head[0] != '\x80' || head[1] < 2 || head[1] > 5) return false;
  return std::strchr("\x8a\x95}c(]", head[2]) != nullptr && head[2] != 0;
}

bool is_safetensors(std::string_view head, size_t file_size) {
  uint64_t header = 0;
  if (head.size() < 10) return false;
  std::memcpy(&header, head.data(), sizeof header);
  return header >= 2 && header <= file_size - 8 && head.substr(8, 2) == "{\"";
}

std::optional<Recognised> recognise(std::string_view head, size_t file_size,
                                    const std::string& file) {
  using namespace std::string_view_literals;
  if (file_size == 0) {
    return Recognised{"offset 0, the file is empty", "fetch it again"};
  }
  if (head.starts_with("version https://git-lfs")) {
    return Recognised{"is a git-lfs pointer, not the file itself",
                      fmt::format("fetch the real file: git lfs pull --include \"{}\"",
                                  file.substr(file.find_last_of('/') + 1))};
  }
  if (head.starts_with("PK\x03\x04"sv)) {
    return Recognised{"is a zip archive, as PyTorch writes its pickled checkpoints",
                      std::string(kConvert)};
  }
  if (is_pickle(head)) return Recognised{"is a Python pickle", std::string(kConvert)};
  if (head.starts_with("\x1f\x8b"sv)) return Recognised{"is compressed with gzip", "unpack it"};
  if (head.starts_with("\x89HDF\r\n"sv)) {
    return Recognised{"is an HDF5 file", std::string(kConvert)};
  }
  if (is_web_page(head)) {
    return Recognised{"is a web page, probably an error or log-in page saved by a download",
                      "fetch it again and look at what the server answers"};
  }
  if (head.starts_with("GGUF")) return Recognised{"is a GGUF file", "rename it to end in .gguf"};
  if (is_safetensors(head, file_size)) {
    return Recognised{"is a safetensors file", "rename it to end in .safetensors"};
  }
  return std::nullopt;
}

}  // namespace

void refuse_foreign(std::span<const std::byte> bytes, const std::string& operation,
                    const std::string& file) {
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()),
                              std::min<size_t>(bytes.size(), 256));
  if (const auto found = recognise(head, bytes.size(), file)) {
    throw Error(ErrorKind::kBadFile, operation, file + ": " + found->what, found->hint);
  }
}

}  // namespace sinkscope::io
