#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace sinkscope::io {

/// A file under a temporary name beside its place, so that a stopped run leaves none that looks
/// complete; gone unless committed. Every function throws kTooLarge when the disk is full, kUsage
/// when the place is not writable, naming `operation` and the file.
class PendingFile {
 public:
  PendingFile(const std::filesystem::path& place, std::string_view operation);
  PendingFile(const PendingFile&) = delete;
  ~PendingFile();

  void write(std::span<const std::byte> bytes);
  /// Syncs and renames: from here on the place holds the new file, and before it the old one.
  void commit();

 private:
  [[noreturn]] void fail(std::string_view what) const;

  std::filesystem::path place_;
  std::string operation_, temporary_;
  int descriptor_ = -1;
  bool committed_ = false;
};

/// A whole file by way of a PendingFile.
void write_file(const std::filesystem::path& place, std::string_view text,
                std::string_view operation);

}  // namespace sinkscope::io
