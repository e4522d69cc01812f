#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sinkscope/io/tensor_source.h"

namespace sinkscope::io {

/// safetensors: one file, or a directory with model.safetensors or model.safetensors.index.json
/// (the index is the authority; other files are ignored with a note).
///
/// Throws Error{kBadFile} naming file, tensor and byte offset: header limits, JSON errors, overlap,
/// gaps, sizes, missing shards, git-lfs pointers, pickles.
std::unique_ptr<TensorSource> open_safetensors(const std::filesystem::path& file_or_directory);

/// A tensor to be written; `data` is shape x element size bytes.
struct TensorToWrite {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;
};

/// Writes under a temporary name and renames, so that a stopped run leaves no file that looks
/// complete. Throws kTooLarge when the disk is full, kUsage when the place is not writable.
void write_safetensors(const std::filesystem::path& file, const std::vector<TensorToWrite>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace sinkscope::io
