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

// Words, numbers, signs, marks, several scripts, special tokens, bytes that are no UTF-8.
constexpr std::string_view kText =
    " Hello  w\u00F6rld, it's 12.5\n<s>e\u0301 \u4E2D\uFB01 \u2581[CLS]aaaaaaaa</s>\xFF\xE2\x96";

// What is in a tokenizer.json: refused with an Error, or it tokenises anything.
void read_and_encode(std::string_view document, std::string_view text) {
  try {
    const auto config = io::Config::parse(document, "fuzz/tokenizer.json");
    const auto tokenizer = text::read_tokenizer(config, std::nullopt);
    for (const int32_t id : tokenizer->encode(text, false)) token_label(*tokenizer, id);
    for (const int32_t id : make_prompt(*tokenizer, text, text::BosRule::kAuto).ids) {
      token_label(*tokenizer, id);
    }
  } catch (const Error&) {
  }
}

// The named rules lose no byte of any text.
void split(std::string_view text) {
  constexpr std::array<std::string_view, 9> names = {
      "gpt-2", "smollm", "falcon", "llama-bpe", "qwen2", "gpt-4o", "qwen35", "tekken", "bloom"};
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

// The input is a tokenizer.json, with a zero byte and a text behind it or without, or a text.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (!input.starts_with('{')) {
    split(input);
    return 0;
  }
  const size_t zero = input.find('\0');
  read_and_encode(input.substr(0, zero), zero == input.npos ? kText : input.substr(zero + 1));
  return 0;
}
