#include "sinkscope/text/wordpiece_model.h"

#include <algorithm>
#include <utility>

#include "sinkscope/text/utf8.h"

namespace sinkscope::text {
namespace {

bool is_longer_than(std::string_view text, size_t characters) {
  if (text.size() <= characters) return false;
  size_t count = 0;
  for (size_t at = 0; at < text.size() && count <= characters; ++count) {
    at += std::max<size_t>(1, utf8_length(text, at));
  }
  return count > characters;
}

}  // namespace

WordPieceModel::WordPieceModel(Vocabulary vocabulary, Options options)
    : PieceModel(std::move(vocabulary)), options_(options) {}

void WordPieceModel::encode(std::string_view piece, Ids& out) const {
  if (is_longer_than(piece, options_.max_characters)) {
    out.push_back(options_.unknown);
    return;
  }
  const size_t before = out.size();
  for (size_t at = 0; at < piece.size();) {
    size_t longest = 0;
    int32_t id = 0;
    const Trie& trie = at == 0 ? starts_ : continuations_;
    trie.visit_prefixes(piece.substr(at), [&](size_t length, int32_t value) {
      longest = length;
      id = value;
    });
    if (longest == 0) {
      out.resize(before);
      out.push_back(options_.unknown);
      return;
    }
    out.push_back(id);
    at += longest;
  }
}

}  // namespace sinkscope::text
