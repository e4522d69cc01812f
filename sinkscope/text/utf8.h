#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sinkscope::text {

/// Bytes (1 to 4) of the UTF-8 sequence that starts at `at`; 0 where the bytes are no UTF-8
/// (overlong, surrogate, above U+10FFFF, cut off, stray continuation).
size_t utf8_length(std::string_view text, size_t at);

/// The code point of one well-formed sequence.
char32_t utf8_decode(std::string_view sequence);

void utf8_append(char32_t code_point, std::string& out);

/// A maximal run of bytes that is UTF-8 throughout, or nowhere.
struct Run {
  std::string_view bytes;
  bool well_formed = false;
};

/// The run that starts at `at` (inside the text).
Run utf8_run(std::string_view text, size_t at);

/// Unicode's property White_Space.
bool is_white_space(char32_t code_point);

}  // namespace sinkscope::text
