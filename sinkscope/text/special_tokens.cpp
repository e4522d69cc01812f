#include "sinkscope/text/special_tokens.h"

#include "sinkscope/text/utf8.h"

namespace sinkscope::text {
namespace {

size_t skip_white_space(std::string_view text, size_t at) {
  while (at < text.size()) {
    const size_t length = utf8_length(text, at);
    if (length == 0 || !is_white_space(utf8_decode(text.substr(at, length)))) break;
    at += length;
  }
  return at;
}

// The start of the white space that ends at `end`, not before `from`.
size_t white_space_before(std::string_view text, size_t from, size_t end) {
  while (end > from) {
    size_t begin = end - 1;
    while (begin > from && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) --begin;
    if (utf8_length(text, begin) != end - begin) break;
    if (!is_white_space(utf8_decode(text.substr(begin, end - begin)))) break;
    end = begin;
  }
  return end;
}

}  // namespace

void SpecialTokens::add(std::string_view content, Token token) {
  if (content.empty()) return;
  int32_t node = 0;
  for (const char byte : content) {
    const auto [next, added] =
        edges_.try_emplace(edge(node, byte), static_cast<int32_t>(nodes_.size()));
    if (added) nodes_.emplace_back();
    node = next->second;
  }
  nodes_[node] = token;
  begins_[static_cast<uint8_t>(content.front())] = true;
}

const SpecialTokens::Token* SpecialTokens::longest_at(std::string_view text, size_t begin,
                                                      size_t* end) const {
  const Token* best = nullptr;
  int32_t node = 0;
  for (size_t at = begin; at < text.size(); ++at) {
    const auto next = edges_.find(edge(node, text[at]));
    if (next == edges_.end()) break;
    node = next->second;
    if (!nodes_[node]) continue;
    best = &*nodes_[node];
    *end = at + 1;
  }
  return best;
}

std::optional<SpecialTokens::Match> SpecialTokens::find(std::string_view text, size_t from) const {
  for (size_t begin = from; begin < text.size(); ++begin) {
    if (!begins_[static_cast<uint8_t>(text[begin])]) continue;
    size_t end = 0;
    const Token* const token = longest_at(text, begin, &end);
    if (token == nullptr) continue;
    return Match{token->strips_left ? white_space_before(text, from, begin) : begin,
                 token->strips_right ? skip_white_space(text, end) : end, token->id};
  }
  return std::nullopt;
}

}  // namespace sinkscope::text
