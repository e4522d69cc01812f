#include "sinkscope/text/special_tokens.h"

#include "sinkscope/text/unicode_sets.h"
#include "sinkscope/text/utf8.h"

namespace sinkscope::text {
namespace {

/// The character that starts at `at`; none at the end or where the bytes are no UTF-8.
std::optional<char32_t> character_at(std::string_view text, size_t at, size_t* length) {
  *length = at < text.size() ? utf8_length(text, at) : 0;
  if (*length == 0) return std::nullopt;
  return utf8_decode(text.substr(at, *length));
}

/// The character that ends at `end` and does not begin before `from`.
std::optional<char32_t> character_before(std::string_view text, size_t from, size_t end,
                                         size_t* length) {
  if (end <= from) return std::nullopt;
  size_t begin = end - 1;
  while (begin > from && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) --begin;
  const auto character = character_at(text, begin, length);
  return *length == end - begin ? character : std::nullopt;
}

size_t skip_white_space(std::string_view text, size_t at) {
  size_t length = 0;
  for (auto c = character_at(text, at, &length); c && is_white_space(*c);
       c = character_at(text, at, &length)) {
    at += length;
  }
  return at;
}

// The start of the white space that ends at `end`, not before `from`.
size_t white_space_before(std::string_view text, size_t from, size_t end) {
  size_t length = 0;
  for (auto c = character_before(text, from, end, &length); c && is_white_space(*c);
       c = character_before(text, from, end, &length)) {
    end -= length;
  }
  return end;
}

bool is_inside_word(std::string_view text, size_t begin, size_t end) {
  const auto is_word = [](const std::optional<char32_t>& c) {
    return c && word_characters().contains(static_cast<UChar32>(*c));
  };
  size_t length = 0;
  return is_word(character_before(text, 0, begin, &length)) ||
         is_word(character_at(text, end, &length));
}

}  // namespace

void SpecialTokens::add(std::string_view content, Token token) {
  trie_.add(content, static_cast<int32_t>(tokens_.size()));
  tokens_.push_back(token);
}

std::optional<SpecialTokens::Match> SpecialTokens::find(std::string_view text, size_t from) const {
  size_t begin = from;
  while (begin < text.size()) {
    const Token* token = nullptr;
    size_t length = 1;
    trie_.visit_prefixes(text.substr(begin), [&](size_t key_length, int32_t index) {
      token = &tokens_[index];
      length = key_length;
    });
    if (token != nullptr && !(token->single_word && is_inside_word(text, begin, begin + length))) {
      return Match{token->strips_left ? white_space_before(text, from, begin) : begin,
                   token->strips_right ? skip_white_space(text, begin + length) : begin + length,
                   token->id};
    }
    begin += length;
  }
  return std::nullopt;
}

}  // namespace sinkscope::text
