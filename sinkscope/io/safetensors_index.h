#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace sinkscope::io {

/// The weight_map of model.safetensors.index.json: for each shard, the tensors it is to hold.
using ShardTensors = std::map<std::string, std::vector<std::string>>;

/// Throws kBadFile: not JSON, no weight_map, a shard name that leads out of the directory, a shard
/// that does not exist.
ShardTensors read_safetensors_index(const std::filesystem::path& index);

}  // namespace sinkscope::io
