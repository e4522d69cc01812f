#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace sinkscope::io {

/// The files of a split model in order, from the name of its first part,
/// "NAME-00001-of-0000N.gguf". Throws kBadFile when the name has not this form or says another
/// number of parts, and naming the first part that does not exist.
std::vector<std::filesystem::path> gguf_part_names(const std::filesystem::path& first,
                                                   int64_t parts);

}  // namespace sinkscope::io
