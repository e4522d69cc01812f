#include "sinkscope/io/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "sinkscope/base/error.h"
#include "sinkscope/io/foreign_file.h"
#include "sinkscope/io/printable.h"
#include "sinkscope/io/safetensors_json.h"

namespace sinkscope::io {

namespace {

constexpr uint64_t kLengthBytes = 8;
constexpr char kOperation[] = "read safetensors header";
constexpr char kCutShort[] = "the download was probably cut short; fetch the file again";

[[noreturn]] void refuse(const std::string& file, const std::string& seen,
                         const std::string& hint = {}) {
  throw Error(ErrorKind::kBadFile, kOperation, file + ": " + seen, hint);
}

std::string_view header_text(std::span<const std::byte> bytes, const std::string& file) {
  uint64_t length = 0;
  const bool has_length = bytes.size() >= kLengthBytes;
  if (has_length) std::memcpy(&length, bytes.data(), kLengthBytes);
  const bool fits =
      has_length && length <= kMaxSafetensorsHeader && length <= bytes.size() - kLengthBytes;
  const char* text = reinterpret_cast<const char*>(bytes.data()) + kLengthBytes;
  if (fits && length > 0 && text[0] == '{') return {text, length};
  // Only now: the length of a proper header may look like the first bytes of a pickle.
  refuse_foreign(bytes, kOperation, file);
  if (!has_length) {
    refuse(file,
           fmt::format("byte 0: the header length needs 8 bytes, the file has {}", bytes.size()),
           kCutShort);
  }
  if (length > kMaxSafetensorsHeader) {
    refuse(file,
           fmt::format("byte 0: header of {} bytes, over the limit of {}", grouped(length),
                       grouped(kMaxSafetensorsHeader)),
           "the file may not be safetensors at all");
  }
  if (!fits) {
    refuse(file,
           fmt::format("byte 0: header of {} bytes runs past the end of the file at byte {}",
                       grouped(length), bytes.size()),
           kCutShort);
  }
  refuse(file, fmt::format("byte 8: not valid JSON: an object is expected, found \"{}\"",
                           printable({text, std::min<uint64_t>(length, 3)})));
}

// A checked entry; `offset` still counts from the end of the header.
TensorInfo read_entry(const SafetensorsEntry& entry, const std::string& file) {
  TensorInfo tensor;
  tensor.name = entry.name;
  tensor.dtype = *entry.dtype;
  tensor.shape = *entry.shape;
  const std::string place = "tensor " + printable(tensor.name);
  const uint64_t begin = (*entry.data_offsets)[0], end = (*entry.data_offsets)[1];
  if (begin > end)
    refuse(file, fmt::format("{}: data_offsets [{}, {}] run backwards", place, begin, end));
  int64_t bytes = block_bytes(tensor.dtype);
  // Zeros last, so that a wrapping product is noticed beside one.
  std::vector<int64_t> dimensions = tensor.shape;
  std::sort(dimensions.rbegin(), dimensions.rend());
  for (const int64_t dimension : dimensions) {
    if (__builtin_mul_overflow(bytes, dimension, &bytes)) {
      refuse(file, fmt::format("{}: the element count of shape {} overflows", place,
                               tensor.shape_text()));
    }
  }
  tensor.offset = begin;
  tensor.bytes = static_cast<uint64_t>(bytes);
  if (tensor.bytes != end - begin) {
    refuse(file, fmt::format("{}: shape {} of {} needs {} bytes, data_offsets [{}, {}] give {}",
                             place, tensor.shape_text(), dtype_name(tensor.dtype),
                             grouped(tensor.bytes), begin, end, grouped(end - begin)));
  }
  return tensor;
}

// Data must follow each other from 0 to `data_size`; `data_start` is for messages.
void check_cover(const std::vector<TensorInfo>& tensors, uint64_t data_start, uint64_t data_size,
                 const std::string& file) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const TensorInfo &left = tensors[a], &right = tensors[b];
    return std::pair(left.offset, left.bytes) < std::pair(right.offset, right.bytes);
  });
  uint64_t end = 0;
  std::string before = "the start of the data";
  for (const size_t index : order) {
    const TensorInfo& tensor = tensors[index];
    const std::string name = "tensor " + printable(tensor.name);
    if (tensor.offset < end) {
      refuse(file, fmt::format("{} starts at data offset {}, inside {}, which ends at {}", name,
                               tensor.offset, before, end));
    }
    if (tensor.offset > end) {
      refuse(file, fmt::format("{}: gap of {} bytes before it, after {} at data offset {}", name,
                               grouped(tensor.offset - end), before, end));
    }
    end = tensor.offset + tensor.bytes;
    if (end > data_size) {
      refuse(file,
             fmt::format("{} at byte {} needs {} bytes, {} missing: the file needs {} bytes "
                         "and has {}",
                         name, data_start + tensor.offset, grouped(tensor.bytes),
                         grouped(end - data_size), grouped(data_start + end),
                         grouped(data_start + data_size)),
             kCutShort);
    }
    before = name;
  }
  if (end < data_size) {
    refuse(file,
           fmt::format("byte {}: {} bytes after the last tensor are not covered by the header",
                       data_start + end, grouped(data_size - end)),
           "the file was damaged or put together wrongly; fetch it again");
  }
}

}  // namespace

std::vector<TensorInfo> read_safetensors_header(std::span<const std::byte> bytes,
                                                const std::string& file) {
  const std::string_view text = header_text(bytes, file);
  const uint64_t data_start = kLengthBytes + text.size();
  std::vector<TensorInfo> tensors;
  for (const SafetensorsEntry& entry : parse_safetensors_json(text, kLengthBytes, file)) {
    tensors.push_back(read_entry(entry, file));
  }
  check_cover(tensors, data_start, bytes.size() - data_start, file);
  for (TensorInfo& tensor : tensors) tensor.offset += data_start;
  return tensors;
}

}  // namespace sinkscope::io
