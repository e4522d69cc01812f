#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "sinkscope/base/error.h"
#include "sinkscope/io/pending_file.h"
#include "sinkscope/io/printable.h"
#include "sinkscope/io/safetensors.h"
#include "sinkscope/io/safetensors_header.h"

namespace sinkscope::io {

namespace {

namespace fs = std::filesystem;

constexpr char kOperation[] = "write safetensors";

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
  PendingFile pending(file, kOperation);
  pending.write(std::as_bytes(std::span(&length, 1)));
  pending.write(std::as_bytes(std::span(header)));
  for (const size_t index : order) pending.write(tensors[index].data);
  pending.commit();
}

}  // namespace sinkscope::io
