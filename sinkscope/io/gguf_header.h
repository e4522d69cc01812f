#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sinkscope/io/gguf.h"

namespace sinkscope::io {

struct GgufKey {
  std::string name;
  GgufValue value;
  uint64_t byte = 0;  ///< where the key starts in the file
};

/// What stands before the data of one GGUF file. Tensors lie inside the file, apart from each
/// other, with `offset` counted from the start of the file.
struct GgufHeader {
  std::vector<GgufKey> keys;
  std::unordered_map<std::string, size_t> by_name;  ///< into keys
  std::vector<TensorInfo> tensors;
  std::vector<std::string> notes;
};

/// `bytes` is the whole file, `file` its name for messages. Throws as GgufFile::open does.
GgufHeader read_gguf_header(std::span<const std::byte> bytes, const std::string& file);

}  // namespace sinkscope::io
