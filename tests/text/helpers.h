#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "sinkscope/io/gguf.h"
#include "sinkscope/text/tokenizer.h"

namespace sinkscope::test {

inline std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline nlohmann::json read_json(const std::filesystem::path& file) {
  return nlohmann::json::parse(read_text(file));
}

inline void write_text(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

inline std::unique_ptr<text::Tokenizer> tokenizer_of_gguf(const std::filesystem::path& file) {
  return text::open_tokenizer(*io::GgufFile::open(file));
}

/// The bytes of all ids, one after the other.
inline std::string joined_bytes(const text::Tokenizer& tokenizer, const text::Ids& ids) {
  std::string bytes;
  for (const int32_t id : ids) bytes += tokenizer.bytes(id);
  return bytes;
}

}  // namespace sinkscope::test
