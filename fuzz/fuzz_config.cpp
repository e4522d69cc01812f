#include <cstdint>
#include <nlohmann/json.hpp>

#include "sinkscope/base/error.h"
#include "sinkscope/io/config_json.h"

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_to([&] { read_all(io::Config::parse(text, "config.json")); });
  return 0;
}
