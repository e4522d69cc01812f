#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "sinkscope/base/error.h"
#include "sinkscope/text/json_tokenizer.h"
#include "sinkscope/text/pre_tokenizer.h"

using namespace sinkscope;

namespace {

// What is in a tokenizer.json: refused with an Error, or it tokenises anything.
void read_and_encode(std::string_view document, std::string_view text) {
  try {
    const auto config = io::Config::parse(document, "fuzz/tokenizer.json");
    const auto tokenizer = text::read_tokenizer(config, std::nullopt);
    for (const bool parse_special : {false, true}) {
      for (const int32_t id : tokenizer->encode(text, parse_special)) token_label(*tokenizer, id);
    }
  } catch (const Error&) {
  }
}

// The named rules lose no byte of any text.
void split(std::string_view text) {
  constexpr std::array<std::string_view, 6> names = {"gpt-2",     "smollm", "falcon",
                                                     "llama-bpe", "qwen2",  "gpt-4o"};
  static const auto types = [&] {
    std::array<text::PreType, names.size()> out;
    for (size_t i = 0; i < names.size(); ++i) out[i] = text::named_pre_type(names[i], "fuzz");
    return out;
  }();
  for (const text::PreType& type : types) {
    const char* at = text.data();
    const text::Pieces pieces = type.pre_tokenizer.split(text);
    for (const std::string_view piece : pieces.list) {
      if (piece.data() != at || piece.empty()) std::abort();
      at += piece.size();
    }
    if (at != text.data() + text.size()) std::abort();
  }
}

}  // namespace

// The input is a text, or a tokenizer.json, a zero byte and a text.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t zero = input.find('\0');
  if (input.starts_with('{') && zero != input.npos) {
    read_and_encode(input.substr(0, zero), input.substr(zero + 1));
  } else {
    split(input);
  }
  return 0;
}
