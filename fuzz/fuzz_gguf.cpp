#include <cstdint>
#include <vector>

#include "sinkscope/base/error.h"
#include "sinkscope/io/dequantise.h"
#include "sinkscope/io/gguf_header.h"

using namespace sinkscope;

// Any bytes are either refused with an Error or describe tensors that can be read.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    const io::GgufHeader header = io::read_gguf_header(bytes, "fuzz.gguf");
    for (const io::TensorInfo& tensor : header.tensors) {
      const auto place = bytes.subspan(tensor.offset, tensor.bytes);
      std::vector<float> values(static_cast<size_t>(tensor.elements()));
      io::dequantise(tensor.dtype, place.data(), tensor.elements(), values.data());
    }
  } catch (const Error&) {
  }
  return 0;
}
