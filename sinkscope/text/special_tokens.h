#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sinkscope/text/trie.h"

namespace sinkscope::text {

/// Strings that stand for one id wherever they occur in the text.
class SpecialTokens {
 public:
  struct Token {
    int32_t id = 0;
    bool strips_left = false;   ///< white space in front belongs to it and is dropped
    bool strips_right = false;  ///< the same behind it
    bool single_word = false;   ///< no token inside a word
  };
  struct Match {
    size_t begin = 0;
    size_t end = 0;  ///< both with the white space that is dropped
    int32_t id = 0;
  };

  /// Of equal strings the last one holds; an empty one is ignored.
  void add(std::string_view content, Token token);

  /// The first occurrence at or after `from`, the longest where several begin. One inside a word
  /// that must not be is passed over whole, as the `tokenizers` library does.
  std::optional<Match> find(std::string_view text, size_t from) const;

 private:
  Trie trie_;
  std::vector<Token> tokens_;
};

}  // namespace sinkscope::text
