#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sinkscope/text/charsmap.h"
#include "sinkscope/text/regex.h"

namespace sinkscope::text {

/// Turns text into other text, before it is split or between two splits. Bytes that are no UTF-8
/// pass through unchanged. `first`: the text stands at the very beginning of the input, not behind
/// a special token or another piece. Thread-safe.
using Rewrite = std::function<std::string(std::string_view text, bool first)>;

/// A file's rules must not blow text up: throws kTooLarge when `size` bytes are more than 64 times
/// `from` (and more than 64 KiB), or more than 31 bits can count.
void check_growth(size_t size, size_t from);

enum class NormalForm { kC, kD, kKc, kKd };
Rewrite normal_form(NormalForm form);

/// Puts `prefix` in front of any text that is not empty.
Rewrite prepend(std::string prefix);
/// The same, unless the text begins with it already. `only_first`: only where `first` holds.
Rewrite prepend_if_missing(std::string prefix, bool only_first);

Rewrite replace(std::string from, std::string to);
/// `to` is taken literally.
Rewrite replace(std::shared_ptr<const Regex> from, std::string to);

Rewrite lowercase();  ///< character by character: no rule about the end of a word
Rewrite strip_accents();
Rewrite strip_white_space(bool left, bool right);
Rewrite nmt();  ///< control characters go, odd spaces become plain ones

struct BertRules {
  bool clean_text = true;
  bool chinese_apart = true;
  bool strip_accents = true;
  bool lowercase = true;
};
Rewrite bert(BertRules rules);

/// The `tokenizers` library's Precompiled: grapheme by grapheme, one of at most 5 bytes as a whole
/// if a key is its prefix, otherwise character by character.
Rewrite precompiled(std::shared_ptr<const Charsmap> map);

/// What SentencePiece itself does (GGUF files of T5): the longest key at each place, then its rules
/// for spaces, which become U+2581.
struct SpaceRules {
  bool prefix = true;         ///< one in front of the text
  bool merge_spaces = false;  ///< runs become one, none in front or behind
};
Rewrite sentencepiece(std::shared_ptr<const Charsmap> map_or_null, SpaceRules rules);

}  // namespace sinkscope::text
