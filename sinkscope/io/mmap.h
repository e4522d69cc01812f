#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace sinkscope::io {

/// A whole file mapped read-only; pages are loaded when touched. Movable; the bytes stay where they
/// are until destruction. An empty file is an empty span.
class MappedFile {
 public:
  /// Throws kBadFile when there is no such file, it is not readable or not a regular file.
  explicit MappedFile(const std::filesystem::path& file);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  const std::filesystem::path& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }

  /// Gives the pages that lie wholly in [offset, offset + size) back; they are read again from the
  /// file when touched.
  void release(uint64_t offset, uint64_t size) const;

 private:
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

}  // namespace sinkscope::io
