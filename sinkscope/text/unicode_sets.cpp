#include "sinkscope/text/unicode_sets.h"

#include <fmt/format.h>

#include <iterator>

#include "sinkscope/base/error.h"

namespace sinkscope::text {
namespace {

icu::UnicodeSet make_set(const char* pattern) {
  UErrorCode status = U_ZERO_ERROR;
  icu::UnicodeSet set(icu::UnicodeString::fromUTF8(pattern), status);
  if (U_FAILURE(status)) {
    throw Error(ErrorKind::kInternal, "make a set of characters",
                fmt::format("{}: {}", pattern, u_errorName(status)));
  }
  set.freeze();
  return set;
}

}  // namespace

const icu::UnicodeSet& bert_control() {
  static const icu::UnicodeSet set = make_set(R"([[[:Cc:][:Cf:][:Co:]] & [:Age=8.0:] - [\t\n\r]])");
  return set;
}

const icu::UnicodeSet& bert_marks() {
  // Characters whose category changed after Unicode 8.
  static const icu::UnicodeSet set =
      make_set(R"([[[:Mn:] & [:Age=8.0:] - [\u1885\u1886\uA9BD\U000111C9]] \u1734])");
  return set;
}

const icu::UnicodeSet& bert_punctuation() {
  static const icu::UnicodeSet set =
      make_set(R"([[[:P:] & [:Age=8.0:]] [!-/\:-@\[-`\{-~] \u166D \U000111C9])");
  return set;
}

const icu::UnicodeSet& bert_chinese() {
  static const icu::UnicodeSet set = make_set(
      R"([\u3400-\u4DBF\u4E00-\u9FFF\uF900-\uFAFF\U00020000-\U0002A6DF\U0002A700-\U0002B81F)"
      R"(\U0002B920-\U0002CEAF\U0002F800-\U0002FA1F])");
  return set;
}

const icu::UnicodeSet& combining_marks() {
  static const icu::UnicodeSet set =
      make_set(R"([[[:M:] & [:Age=9.0:] - [\U000111C9]] \u1CF2\u1CF3])");
  return set;
}

const icu::UnicodeSet& word_characters() {
  static const icu::UnicodeSet set = make_set("[[:Alphabetic:][:M:][:Nd:][:Pc:][:Join_Control:]]");
  return set;
}

const icu::UnicodeSet& white_space() {
  static const icu::UnicodeSet set = make_set("[:White_Space:]");
  return set;
}

std::string regex_class(const icu::UnicodeSet& set, bool negated) {
  std::string out = negated ? "[^" : "[";
  for (int32_t i = 0; i < set.getRangeCount(); ++i) {
    fmt::format_to(std::back_inserter(out), "\\x{{{:X}}}-\\x{{{:X}}}",
                   static_cast<uint32_t>(set.getRangeStart(i)),
                   static_cast<uint32_t>(set.getRangeEnd(i)));
  }
  return out + "]";
}

}  // namespace sinkscope::text
