#include <cstdint>
#include <cstdlib>
#include <span>

#include "sinkscope/base/error.h"
#include "sinkscope/image/image.h"

using namespace sinkscope;

// Any bytes are either refused with an Error or a picture of the size that it says.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto image = image::decode_image(std::as_bytes(std::span(data, size)), "fuzz.png");
    if (image.rgb.size() != static_cast<size_t>(image.width * image.height * 3)) std::abort();
  } catch (const Error&) {
  }
  return 0;
}
