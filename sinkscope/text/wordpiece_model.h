#pragma once

#include <cstddef>
#include <limits>

#include "sinkscope/text/piece_model.h"
#include "sinkscope/text/trie.h"

namespace sinkscope::text {

/// WordPiece (BERT): the longest token that begins the word, then the longest that continues it,
/// and so on; a word that cannot be spelt to its end is one unknown token.
class WordPieceModel final : public PieceModel {
 public:
  struct Options {
    int32_t unknown = 0;
    size_t max_characters = std::numeric_limits<size_t>::max();  ///< a longer word is unknown
  };
  WordPieceModel(Vocabulary vocabulary, Options options);

  void add_start(std::string_view spelling, int32_t id) { starts_.add(spelling, id); }
  /// `spelling` without the mark of a continuation ("##").
  void add_continuation(std::string_view spelling, int32_t id) { continuations_.add(spelling, id); }

  void encode(std::string_view piece, Ids& out) const override;

 private:
  Options options_;
  Trie starts_;
  Trie continuations_;
};

}  // namespace sinkscope::text
