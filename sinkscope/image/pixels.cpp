#include "sinkscope/image/pixels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sinkscope/base/error.h"
#include "sinkscope/base/float_types.h"
#include "sinkscope/image/npy.h"
#include "sinkscope/io/mmap.h"
#include "sinkscope/io/safetensors.h"

namespace sinkscope::image {

namespace {

constexpr char kOperation[] = "read pixel values";

/// The N, H and W of a shape [N, 3, H, W] or [3, H, W].
struct Batch {
  int64_t count = 0;
  int64_t height = 0;
  int64_t width = 0;
};

Batch read_shape(const std::vector<int64_t>& shape, const std::string& where) {
  const bool one = shape.size() == 3;
  const size_t channel = one ? 0 : 1;
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  if ((!one && shape.size() != 4) || shape[channel] != 3 || empty) {
    throw Error(ErrorKind::kBadFile, kOperation,
                fmt::format("{}: shape [{}], [N, 3, H, W] or [3, H, W] is expected", where,
                            fmt::join(shape, ", ")));
  }
  return {one ? 1 : shape[0], shape[channel + 1], shape[channel + 2]};
}

template <typename Stored, typename Convert>
void convert(std::span<const std::byte> data, size_t first, std::span<float> out, Convert value) {
  for (size_t i = 0; i < out.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, data.data() + (first + i) * sizeof stored, sizeof stored);
    out[i] = value(stored);
  }
}

void read_npy_floats(const NpyArray& array, size_t first, std::span<float> out) {
  switch (array.dtype) {
    case io::DType::kF16: return convert<uint16_t>(array.data, first, out, half_to_float);
    case io::DType::kF64:
      return convert<double>(array.data, first, out,
                             [](double value) { return static_cast<float>(value); });
    default: return convert<float>(array.data, first, out, [](float value) { return value; });
  }
}

/// `read(first, out)` delivers the elements from `first` on.
template <typename Read>
std::vector<Pixels> read_batch(const std::vector<int64_t>& shape, const std::string& where,
                               Read read) {
  const Batch batch = read_shape(shape, where);
  const int64_t size = 3 * batch.height * batch.width;
  std::vector<Pixels> out;
  for (int64_t n = 0; n < batch.count; ++n) {
    Pixels& pixels = out.emplace_back(Pixels{3, batch.height, batch.width, {}});
    pixels.values.resize(static_cast<size_t>(size));
    read(n * size, std::span<float>(pixels.values));
    const auto bad = std::find_if(pixels.values.begin(), pixels.values.end(),
                                  [](float value) { return !std::isfinite(value); });
    if (bad != pixels.values.end()) {
      throw Error(ErrorKind::kBadNumbers, kOperation,
                  fmt::format("{}: element {} is {}", where,
                              n * size + (bad - pixels.values.begin()), *bad));
    }
  }
  return out;
}

bool holds_floats(io::DType type) {
  return type == io::DType::kF16 || type == io::DType::kBF16 || type == io::DType::kF32 ||
         type == io::DType::kF64;
}

std::vector<Pixels> read_safetensors(const std::filesystem::path& file) {
  const auto source = io::open_safetensors(file);
  const io::TensorInfo* tensor = source->find("pixel_values");
  if (!tensor && source->tensors().size() == 1) tensor = &source->tensors().front();
  if (!tensor) {
    throw Error(ErrorKind::kBadFile, kOperation,
                fmt::format("{}: {} tensors, none is named pixel_values", file.string(),
                            source->tensors().size()));
  }
  const std::string where = fmt::format("{}: tensor {}", file.string(), tensor->name);
  if (!holds_floats(tensor->dtype)) {
    throw Error(
        ErrorKind::kUnsupported, kOperation,
        fmt::format("{} is of type {}, floats are expected", where, io::dtype_name(tensor->dtype)));
  }
  return read_batch(tensor->shape, where, [&](int64_t first, std::span<float> out) {
    io::read_floats(*source, *tensor, first, out);
  });
}

}  // namespace

std::vector<Pixels> read_pixels(const std::filesystem::path& file) {
  const io::MappedFile mapped(file);
  if (!is_npy(mapped.bytes())) return read_safetensors(file);
  const NpyArray array = read_npy(mapped.bytes(), file.string());
  return read_batch(array.shape, file.string(), [&](int64_t first, std::span<float> out) {
    read_npy_floats(array, static_cast<size_t>(first), out);
  });
}

}  // namespace sinkscope::image
