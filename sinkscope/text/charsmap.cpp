#include "sinkscope/text/charsmap.h"

#include <fmt/format.h>

#include <utility>

#include "sinkscope/base/error.h"

namespace sinkscope::text {
namespace {

constexpr size_t kWord = sizeof(uint32_t);

uint32_t read_word(std::string_view bytes, size_t at) {
  uint32_t word = 0;
  for (size_t i = kWord; i-- > 0;) word = word << 8 | static_cast<uint8_t>(bytes[at + i]);
  return word;
}

bool has_value(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t value(uint32_t unit) { return unit & 0x7FFFFFFF; }
uint32_t label(uint32_t unit) { return unit & 0x800000FF; }
uint32_t offset(uint32_t unit) { return unit >> 10 << ((unit & 1u << 9) >> 6); }

std::optional<uint32_t> base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return std::nullopt;
}

}  // namespace

Charsmap::Charsmap(std::string bytes, const std::string& where)
    : bytes_(std::move(bytes)), where_(where) {
  if (bytes_.size() < kWord) refuse(fmt::format("{} bytes, too few for a size", bytes_.size()));
  const size_t trie = read_word(bytes_, 0);
  if (trie == 0 || trie % kWord != 0 || trie > bytes_.size() - kWord) {
    refuse(fmt::format("a trie of {} bytes in a map of {}", trie, bytes_.size()));
  }
  units_ = trie / kWord;
}

std::optional<Charsmap::Hit> Charsmap::shortest(std::string_view text) const {
  return find(text, true);
}

std::optional<Charsmap::Hit> Charsmap::longest(std::string_view text) const {
  return find(text, false);
}

std::optional<Charsmap::Hit> Charsmap::find(std::string_view text, bool shortest) const {
  std::optional<Hit> best;
  size_t at = offset(unit(0));
  for (size_t i = 0; i < text.size() && text[i] != '\0'; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    at ^= byte;
    const uint32_t here = unit(at);
    if (label(here) != byte) break;
    at ^= offset(here);
    if (!has_value(here)) continue;
    best = Hit{i + 1, replacement(value(unit(at)))};
    if (shortest) break;
  }
  return best;
}

uint32_t Charsmap::unit(size_t index) const {
  if (index >= units_) refuse(fmt::format("unit {} of a trie of {}", index, units_));
  return read_word(bytes_, (1 + index) * kWord);
}

std::string_view Charsmap::replacement(uint32_t offset) const {
  const auto all = std::string_view(bytes_).substr((1 + units_) * kWord);
  const size_t end = offset < all.size() ? all.find('\0', offset) : all.npos;
  if (end == all.npos) {
    refuse(fmt::format("no replacement ends behind byte {} of {}", offset, all.size()));
  }
  return all.substr(offset, end - offset);
}

void Charsmap::refuse(const std::string& seen) const {
  throw Error(ErrorKind::kBadFile, "read a precompiled character map", where_ + ": " + seen,
              "fetch the file again, or give the ids themselves with --tokens");
}

std::optional<std::string> decode_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const auto digit = base64_digit(c);
    if (!digit) return std::nullopt;
    bits = (bits << 6 | *digit) & 0xFFFF;
    count += 6;
    if (count >= 8) {
      count -= 8;
      out.push_back(static_cast<char>(bits >> count));
    }
  }
  return out;
}

}  // namespace sinkscope::text
