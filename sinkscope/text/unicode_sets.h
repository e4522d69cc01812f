#pragma once

#include <unicode/uniset.h>

#include <string>

namespace sinkscope::text {

/// Sets of characters as the `tokenizers` library has them: its tables are of Unicode 8 and 9, so
/// what Unicode added later is in none of them.

const icu::UnicodeSet& bert_control();      ///< what clean_text removes
const icu::UnicodeSet& bert_marks();        ///< what BertNormalizer strips
const icu::UnicodeSet& bert_punctuation();  ///< what BertPreTokenizer and Punctuation split at
const icu::UnicodeSet& bert_chinese();      ///< what handle_chinese_chars sets apart
const icu::UnicodeSet& combining_marks();   ///< what StripAccents removes
const icu::UnicodeSet& word_characters();   ///< \w of the library's Whitespace and single_word

const icu::UnicodeSet& white_space();  ///< White_Space

/// The set as a character class for Regex: "[\x{21}-\x{23}...]"; `negated`: "[^...".
std::string regex_class(const icu::UnicodeSet& set, bool negated = false);

}  // namespace sinkscope::text
