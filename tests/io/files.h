#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sinkscope/base/error.h"

namespace sinkscope::io::test {

inline void write_file(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

inline std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Little-endian fields one after the other.
class Bytes {
 public:
  template <typename T>
  Bytes& add(T value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    bytes_.append(raw, sizeof(T));
    return *this;
  }
  Bytes& raw(const std::string& bytes) {
    bytes_ += bytes;
    return *this;
  }
  /// A 64-bit length and the text.
  Bytes& text(const std::string& text) { return add<uint64_t>(text.size()).raw(text); }
  Bytes& pad_to(size_t multiple) {
    bytes_.append((multiple - bytes_.size() % multiple) % multiple, '\0');
    return *this;
  }
  size_t size() const { return bytes_.size(); }
  const std::string& str() const { return bytes_; }

 private:
  std::string bytes_;
};

/// A safetensors file of a header text and data.
inline std::string safetensors(const std::string& header, const std::string& data = {}) {
  return Bytes().text(header).raw(data).str();
}

/// `action` must throw an Error of `kind` whose message or hint holds all of `says`.
template <typename Action>
void expect_error(ErrorKind kind, const std::vector<std::string>& says, Action action) {
  try {
    action();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    const std::string text = std::string(error.what()) + " | " + error.hint;
    EXPECT_EQ(error.kind, kind) << text;
    for (const std::string& part : says) {
      EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" not in: " << text;
    }
  }
}

}  // namespace sinkscope::io::test
