#include "sinkscope/io/pending_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "sinkscope/base/error.h"

namespace sinkscope::io {
namespace fs = std::filesystem;

PendingFile::PendingFile(const fs::path& place, std::string_view operation)
    : place_(place),
      operation_(operation),
      temporary_(place.string() + fmt::format(".{}.part", getpid())) {
  descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("create");
}

PendingFile::~PendingFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!committed_) unlink(temporary_.c_str());
}

void PendingFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write");
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void PendingFile::commit() {
  // Some file systems tell of a full disk only here.
  if (fsync(descriptor_) != 0) fail("write");
  if (close(std::exchange(descriptor_, -1)) != 0) fail("write");
  if (rename(temporary_.c_str(), place_.c_str()) != 0) fail("rename");
  committed_ = true;
}

void PendingFile::fail(std::string_view what) const {
  const int cause = errno;
  const bool full = cause == ENOSPC || cause == EDQUOT || cause == EFBIG;
  // A destructor does not run for an object whose constructor throws; there is no file then.
  throw Error(
      full ? ErrorKind::kTooLarge : ErrorKind::kUsage, operation_,
      fmt::format("{}: cannot {} the file: {}", place_.string(), what, std::strerror(cause)),
      full ? "free some space or choose another disk"
           : "choose a directory that exists and is writable");
}

void write_file(const fs::path& place, std::string_view text, std::string_view operation) {
  PendingFile pending(place, operation);
  pending.write(std::as_bytes(std::span(text)));
  pending.commit();
}

}  // namespace sinkscope::io
