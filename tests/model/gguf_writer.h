#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/io/files.h"

namespace sinkscope::model::test {

/// Writes a GGUF file of a few keys and float32 tensors, whose dims are GGUF's: innermost first.
class GgufWriter {
 public:
  void text(const std::string& key, const std::string& value) {
    keys_.text(key).add<uint32_t>(8).text(value);
    ++key_count_;
  }
  void integer(const std::string& key, uint32_t value) {
    keys_.text(key).add<uint32_t>(4).add(value);
    ++key_count_;
  }
  void number(const std::string& key, float value) {
    keys_.text(key).add<uint32_t>(6).add(value);
    ++key_count_;
  }
  void tensor(const std::string& name, const std::vector<uint64_t>& dims,
              const std::vector<float>& values) {
    infos_.text(name).add(static_cast<uint32_t>(dims.size()));
    for (const uint64_t dim : dims) infos_.add(dim);
    infos_.add<uint32_t>(0).add<uint64_t>(data_.size());
    for (const float value : values) data_.add(value);
    data_.pad_to(32);
    ++tensor_count_;
  }
  std::filesystem::path write(const std::filesystem::path& file) const {
    io::test::Bytes bytes;
    bytes.raw("GGUF").add<uint32_t>(3).add(tensor_count_).add(key_count_);
    bytes.raw(keys_.str()).raw(infos_.str()).pad_to(32).raw(data_.str());
    io::test::write_file(file, bytes.str());
    return file;
  }

 private:
  io::test::Bytes keys_, infos_, data_;
  uint64_t key_count_ = 0, tensor_count_ = 0;
};

}  // namespace sinkscope::model::test
