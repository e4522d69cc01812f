#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace sinkscope {

/// SHA-256 as 64 hexadecimal digits.
std::string sha256_bytes(std::span<const std::byte> bytes);

/// Of one file: the same as `sha256sum FILE`. Of several: of the lines "digest  name\n" of all of
/// them, in the order given. Throws kBadFile naming the file that cannot be read.
std::string sha256_files(const std::vector<std::filesystem::path>& files);

}  // namespace sinkscope
