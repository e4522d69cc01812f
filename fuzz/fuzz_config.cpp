#include <cstdint>
#include <nlohmann/json.hpp>

#include "sinkscope/base/error.h"
#include "sinkscope/io/config_json.h"
#include "sinkscope/model/weight_shapes.h"

using namespace sinkscope;

namespace {

// Calls `read` and allows it to refuse.
template <typename Read>
void try_to(Read read) {
  try {
    read();
  } catch (const Error&) {
  }
}

void read_all(const io::Config& config) {
  for (const auto& item : config.json().items()) {
    const std::string& key = item.key();
    try_to([&] { config.integer({key}); });
    try_to([&] { config.number({key}); });
    try_to([&] { config.flag({key}); });
    try_to([&] { config.text({key}, "none"); });
    try_to([&] { config.integers(key); });
    try_to([&] { config.numbers(key); });
    try_to([&] { config.texts(key); });
    try_to([&] {
      if (const auto child = config.child(key)) read_all(*child);
    });
  }
}

// What a family makes of it: refused with an Error, or sizes that a file can be checked against.
void read_as_model(const io::Config& config) {
  const model::Family& family = model::find_family(config);
  const model::ModelSpec spec = family.read_config(config);
  if (spec.layers * std::max<int64_t>(spec.experts.count, 1) > 4096) return;  // true, but slow
  for (const model::ExpectedTensor& tensor : model::expected_tensors(family, spec)) {
    int64_t elements = 1;
    for (const int64_t length : tensor.shape) {
      if (length < 0 || __builtin_mul_overflow(elements, length, &elements)) __builtin_trap();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_to([&] { read_all(io::Config::parse(text, "config.json")); });
  try_to([&] { read_as_model(io::Config::parse(text, "config.json")); });
  return 0;
}
