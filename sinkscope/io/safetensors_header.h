#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sinkscope/io/tensor_source.h"

namespace sinkscope::io {

/// The format's own limit.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

/// The tensors of one safetensors file in the order of its header, `offset` counted from the start
/// of the file; their data cover the file without gap or overlap. `bytes` is the whole file, `file`
/// its name for messages. Throws as open_safetensors does.
std::vector<TensorInfo> read_safetensors_header(std::span<const std::byte> bytes,
                                                const std::string& file);

}  // namespace sinkscope::io
