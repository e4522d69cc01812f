#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "sinkscope/base/error.h"
#include "sinkscope/io/printable.h"
#include "sinkscope/io/safetensors.h"
#include "sinkscope/io/safetensors_header.h"

namespace sinkscope::io {

namespace {

namespace fs = std::filesystem;

constexpr char kOperation[] = "write safetensors";

// A file under a temporary name beside its place; gone unless committed.
class PendingFile {
 public:
  explicit PendingFile(const fs::path& place)
      : place_(place), temporary_(place.string() + fmt::format(".{}.part", getpid())) {
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail("create");
  }
  PendingFile(const PendingFile&) = delete;
  ~PendingFile() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!committed_) unlink(temporary_.c_str());
  }

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("write");
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
  }

  void commit() {
    // Some file systems tell of a full disk only here.
    if (fsync(descriptor_) != 0) fail("write");
    if (close(std::exchange(descriptor_, -1)) != 0) fail("write");
    if (rename(temporary_.c_str(), place_.c_str()) != 0) fail("rename");
    committed_ = true;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    const int cause = errno;
    const bool full = cause == ENOSPC || cause == EDQUOT || cause == EFBIG;
    // A destructor does not run for an object whose constructor throws; there is no file then.
    throw Error(
        full ? ErrorKind::kTooLarge : ErrorKind::kUsage, kOperation,
        fmt::format("{}: cannot {} the file: {}", place_.string(), what, std::strerror(cause)),
        full ? "free some space or choose another disk"
             : "choose a directory that exists and is writable");
  }

  fs::path place_;
  std::string temporary_;
  int descriptor_ = -1;
  bool committed_ = false;
};

void check_tensor(const TensorToWrite& tensor) {
  TensorInfo info;
  info.shape = tensor.shape;
  const bool is_plain = block_elements(tensor.dtype) == 1;
  if (is_plain &&
      static_cast<int64_t>(tensor.data.size()) == info.elements() * block_bytes(tensor.dtype)) {
    return;
  }
  throw Error(ErrorKind::kInternal, kOperation,
              fmt::format("tensor {}: {} bytes for shape {} of {}", printable(tensor.name),
                          tensor.data.size(), info.shape_text(), dtype_name(tensor.dtype)));
}

// Wider elements first, so that every tensor is aligned to its own element.
std::vector<size_t> data_order(const std::vector<TensorToWrite>& tensors) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return block_bytes(tensors[a].dtype) > block_bytes(tensors[b].dtype);
  });
  return order;
}

std::string header_json(const std::vector<TensorToWrite>& tensors, const std::vector<size_t>& order,
                        const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const size_t index : order) {
    const TensorToWrite& tensor = tensors[index];
    check_tensor(tensor);
    nlohmann::ordered_json& entry = header[tensor.name];
    if (!entry.is_null()) {
      throw Error(ErrorKind::kInternal, kOperation,
                  "two tensors are called " + printable(tensor.name));
    }
    entry["dtype"] = dtype_name(tensor.dtype);
    entry["shape"] = tensor.shape;
    entry["data_offsets"] = {offset, offset + tensor.data.size()};
    offset += tensor.data.size();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > kMaxSafetensorsHeader) {
    throw Error(ErrorKind::kTooLarge, kOperation,
                fmt::format("header of {} bytes, the format allows {}", grouped(text.size()),
                            grouped(kMaxSafetensorsHeader)));
  }
  return text;
}

}  // namespace

void write_safetensors(const fs::path& file, const std::vector<TensorToWrite>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  const std::vector<size_t> order = data_order(tensors);
  const std::string header = header_json(tensors, order, metadata);
  const uint64_t length = header.size();
  PendingFile pending(file);
  pending.write(std::as_bytes(std::span(&length, 1)));
  pending.write(std::as_bytes(std::span(header)));
  for (const size_t index : order) pending.write(tensors[index].data);
  pending.commit();
}

}  // namespace sinkscope::io
