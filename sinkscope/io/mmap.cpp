#include "sinkscope/io/mmap.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "sinkscope/base/error.h"

namespace sinkscope::io {

namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why,
                         const std::string& hint = {}) {
  throw Error(ErrorKind::kBadFile, "open file", path.string() + ": " + why, hint);
}

struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) close(value);
  }
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& file) : path_(file) {
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  const Descriptor descriptor{open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (descriptor.value < 0) {
    refuse(file, std::strerror(errno), errno == ENOENT ? "check the spelling of the path" : "");
  }
  struct stat status;
  if (fstat(descriptor.value, &status) != 0) refuse(file, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) refuse(file, "is a directory, a file is expected");
  if (!S_ISREG(status.st_mode)) refuse(file, "is not a regular file");
  const size_t size = static_cast<size_t>(status.st_size);
  if (size == 0) return;
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor.value, 0);
  if (address == MAP_FAILED) refuse(file, std::strerror(errno));
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::release(uint64_t offset, uint64_t size) const {
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t begin = (offset + page - 1) / page * page;
  const uint64_t end = (offset + size) / page * page;
  if (begin >= end || end > bytes_.size()) return;
  // Advice only: a failure costs memory, not correctness.
  madvise(const_cast<std::byte*>(bytes_.data()) + begin, end - begin, MADV_DONTNEED);
}

}  // namespace sinkscope::io
