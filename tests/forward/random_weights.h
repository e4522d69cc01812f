#pragma once

#include <filesystem>
#include <random>
#include <vector>

#include "sinkscope/io/safetensors.h"
#include "sinkscope/model/weight_shapes.h"

namespace sinkscope::forward::test {

/// Random values for every tensor of a family's table: matrices with deviation 0.3, gains around 1,
/// other vectors around 0 with 0.1. Depends on the seed alone.
class RandomWeights {
 public:
  RandomWeights(const model::Family& family, const model::ModelSpec& spec, unsigned seed = 7)
      : expected_(model::expected_tensors(family, spec)) {
    std::mt19937 random(seed);
    for (const model::ExpectedTensor& tensor : expected_) {
      int64_t elements = 1;
      for (const int64_t length : tensor.shape) elements *= length;
      std::normal_distribution<float> normal(
          0, tensor.row->columns == model::Dim::kNone ? 0.1f : 0.3f);
      const bool gain = tensor.row->ours.ends_with("norm") || tensor.row->ours.ends_with("norm1") ||
                        tensor.row->ours.ends_with("norm2") || tensor.row->ours.ends_with("_scale");
      std::vector<float>& values = values_.emplace_back(static_cast<size_t>(elements));
      for (float& value : values) value = normal(random) + (gain ? 1.0f : 0.0f);
    }
  }

  /// Writes model.safetensors into the folder.
  void write(const std::filesystem::path& folder) const {
    std::vector<io::TensorToWrite> tensors;
    for (size_t i = 0; i < expected_.size(); ++i) {
      tensors.push_back({expected_[i].name, io::DType::kF32, expected_[i].shape,
                         std::as_bytes(std::span(values_[i]))});
    }
    io::write_safetensors(folder / "model.safetensors", tensors);
  }

  const std::vector<model::ExpectedTensor>& expected() const { return expected_; }
  const std::vector<float>& values(size_t i) const { return values_[i]; }
  std::vector<float>& values(size_t i) { return values_[i]; }

 private:
  std::vector<model::ExpectedTensor> expected_;
  std::vector<std::vector<float>> values_;
};

}  // namespace sinkscope::forward::test
