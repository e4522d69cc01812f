#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "sinkscope/io/safetensors.h"
#include "tests/support/paths.h"

namespace sinkscope::image::test {

/// A file of tests/data/image, which every checkout has (see make_images.py there).
inline std::filesystem::path image_data(const std::string& name) {
  const auto found = sinkscope::test::data_path("image/" + name);
  if (!found) throw std::runtime_error("tests/data/image/" + name + " is missing");
  return *found;
}

/// The expected tensors of one safetensors file.
class Expected {
 public:
  explicit Expected(const std::string& name) : source_(io::open_safetensors(image_data(name))) {}

  const std::vector<io::TensorInfo>& all() const { return source_->tensors(); }
  const io::TensorInfo* find(const std::string& name) const { return source_->find(name); }
  std::vector<uint8_t> bytes(const io::TensorInfo& tensor) const {
    const auto bytes = source_->bytes(tensor);
    const auto* first = reinterpret_cast<const uint8_t*>(bytes.data());
    return {first, first + bytes.size()};
  }
  std::vector<float> floats(const io::TensorInfo& tensor) const {
    std::vector<float> out(tensor.elements());
    io::read_floats(*source_, tensor, 0, out);
    return out;
  }

 private:
  std::unique_ptr<io::TensorSource> source_;
};

}  // namespace sinkscope::image::test
