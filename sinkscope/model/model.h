#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sinkscope/model/weights.h"

namespace sinkscope::model {

/// A model file opened for measuring: facts, names and mapped weights; nothing is read yet.
class Model {
 public:
  /// `argument`: a .gguf file (the first part of a split one), a directory with config.json and
  /// safetensors, or the id of a model in the local hub cache (HF_HOME). Throws kUsage with the
  /// command that would bring it when there is no such thing.
  static std::unique_ptr<Model> open(std::string_view argument, Weights::Options options = {});

  const ModelSpec& spec() const { return spec_; }
  const Weights& weights() const { return *weights_; }
  const std::filesystem::path& path() const { return path_; }
  std::string_view format() const { return source_->format(); }
  const io::TensorSource& source() const { return *source_; }
  /// The GGUF file, for its tokenizer; null for safetensors.
  const io::GgufFile* gguf() const { return gguf_; }
  /// Element types of the weight matrices with their counts, "Q4_1 x210, Q8_0 x1".
  std::string weight_types() const;
  std::vector<std::string> notes() const;

 private:
  Model() = default;
  std::filesystem::path path_;
  std::shared_ptr<io::TensorSource> source_;
  const io::GgufFile* gguf_ = nullptr;
  ModelSpec spec_;
  std::unique_ptr<Weights> weights_;
};

/// The file or directory that a MODEL argument names; see Model::open.
std::filesystem::path resolve_model(std::string_view argument);

}  // namespace sinkscope::model
