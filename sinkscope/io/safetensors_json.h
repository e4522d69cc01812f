#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sinkscope/io/tensor_source.h"

namespace sinkscope::io {

/// An entry of a safetensors header as it is written; offsets count from the end of the header.
struct SafetensorsEntry {
  std::string name;
  std::optional<DType> dtype;
  std::optional<std::vector<int64_t>> shape;
  std::optional<std::vector<uint64_t>> data_offsets;
};

/// Reads the JSON of a header. Only {name: {dtype, shape, data_offsets}} and
/// {"__metadata__": {text: text}} are accepted, so memory stays in proportion to the text and
/// nesting is bounded. `file_offset` is where the text starts in the file, for messages.
std::vector<SafetensorsEntry> parse_safetensors_json(std::string_view text, uint64_t file_offset,
                                                     const std::string& file);

}  // namespace sinkscope::io
