#include <cstdint>
#include <vector>

#include "sinkscope/base/error.h"
#include "sinkscope/io/dequantise.h"
#include "sinkscope/io/safetensors_header.h"

using namespace sinkscope;

// Any bytes are either refused with an Error or describe tensors that can be read.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    for (const io::TensorInfo& tensor : io::read_safetensors_header(bytes, "fuzz.safetensors")) {
      const auto place = bytes.subspan(tensor.offset, tensor.bytes);
      std::vector<float> values(static_cast<size_t>(tensor.elements()));
      io::dequantise(tensor.dtype, place.data(), tensor.elements(), values.data());
    }
  } catch (const Error&) {
  }
  return 0;
}
