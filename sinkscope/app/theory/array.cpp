#include "sinkscope/app/theory/array.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "sinkscope/base/error.h"
#include "sinkscope/image/npy.h"
#include "sinkscope/io/dequantise.h"
#include "sinkscope/io/mmap.h"
#include "sinkscope/io/safetensors.h"

namespace sinkscope::app {
namespace {

std::vector<double> to_doubles(io::DType type, std::span<const std::byte> bytes, int64_t elements) {
  std::vector<double> entries(static_cast<size_t>(elements));
  if (type == io::DType::kF64) {
    std::memcpy(entries.data(), bytes.data(), entries.size() * sizeof(double));
    return entries;
  }
  std::vector<float> narrow(entries.size());
  io::dequantise(type, bytes.data(), elements, narrow.data());
  std::copy(narrow.begin(), narrow.end(), entries.begin());
  return entries;
}

Matrix to_matrix(io::DType type, const std::vector<int64_t>& shape,
                 std::span<const std::byte> bytes, const std::string& place,
                 const std::string& flag) {
  const bool readable = type == io::DType::kF64 || type == io::DType::kF32 ||
                        type == io::DType::kF16 || type == io::DType::kBF16;
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1 || !readable) {
    throw Error(ErrorKind::kUsage, "read a matrix",
                fmt::format("{} {}: {} with {} dimensions", flag, place, io::dtype_name(type),
                            shape.size()),
                "a matrix of floating-point numbers is wanted, with at least one row and column");
  }
  Matrix matrix{to_doubles(type, bytes, shape[0] * shape[1]), shape[0], shape[1]};
  for (size_t i = 0; i < matrix.entries.size(); ++i) {
    if (std::isfinite(matrix.entries[i])) continue;
    const auto columns = static_cast<size_t>(shape[1]);
    throw Error(ErrorKind::kBadNumbers, "read a matrix",
                fmt::format("{} {}: row {}, column {} is {}", flag, place, i / columns, i % columns,
                            matrix.entries[i]));
  }
  return matrix;
}

}  // namespace

Matrix read_matrix(const std::string& place, const std::string& flag) {
  constexpr std::string_view kEnding = ".safetensors:";
  const size_t ending = place.find(kEnding);
  if (ending == std::string::npos) {
    const io::MappedFile file(place);
    const image::NpyArray array = image::read_npy(file.bytes(), place);
    return to_matrix(array.dtype, array.shape, array.data, place, flag);
  }
  const std::string path = place.substr(0, ending + kEnding.size() - 1),
                    name = place.substr(ending + kEnding.size());
  const std::unique_ptr<io::TensorSource> source = io::open_safetensors(path);
  const io::TensorInfo* tensor = source->find(name);
  if (!tensor) {
    throw Error(ErrorKind::kUsage, "read a matrix",
                fmt::format("{} {}: no tensor \"{}\"", flag, path, name),
                "`sinkscope inspect` lists the tensors of a file");
  }
  return to_matrix(tensor->dtype, tensor->shape, source->bytes(*tensor), place, flag);
}

}  // namespace sinkscope::app
