#include "sinkscope/text/rewrite.h"

#include <fmt/format.h>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sinkscope/base/error.h"
#include "sinkscope/text/unicode_sets.h"
#include "sinkscope/text/utf8.h"

namespace sinkscope::text {
namespace {

void check(UErrorCode status, const char* operation) {
  if (U_FAILURE(status)) throw Error(ErrorKind::kInternal, operation, u_errorName(status));
}

const icu::Normalizer2& normalizer(NormalForm form) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* out = nullptr;
  switch (form) {
    case NormalForm::kC: out = icu::Normalizer2::getNFCInstance(status); break;
    case NormalForm::kD: out = icu::Normalizer2::getNFDInstance(status); break;
    case NormalForm::kKc: out = icu::Normalizer2::getNFKCInstance(status); break;
    case NormalForm::kKd: out = icu::Normalizer2::getNFKDInstance(status); break;
  }
  check(status, "load the tables of a Unicode normal form");
  return *out;
}

std::string to_normal_form(const icu::Normalizer2& form, std::string_view text) {
  std::string out;
  // Run by run: ICU would replace ill-formed bytes by U+FFFD.
  for (size_t at = 0; at < text.size();) {
    const Run run = utf8_run(text, at);
    at += run.bytes.size();
    if (!run.well_formed) {
      out.append(run.bytes);
      continue;
    }
    UErrorCode status = U_ZERO_ERROR;
    std::string composed;
    icu::StringByteSink<std::string> sink(&composed);
    const icu::StringPiece piece(run.bytes.data(), static_cast<int32_t>(run.bytes.size()));
    form.normalizeUTF8(0, piece, sink, nullptr, status);
    check(status, "bring text to a Unicode normal form");
    out += composed;
  }
  return out;
}

// put(code point, out) appends what becomes of one character.
template <typename Put>
std::string map_characters(std::string_view text, Put put) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text, at);
    if (length == 0) {
      out.push_back(text[at++]);
      continue;
    }
    put(utf8_decode(text.substr(at, length)), out);
    at += length;
  }
  return out;
}

bool is_in(const icu::UnicodeSet& set, char32_t c) { return set.contains(static_cast<UChar32>(c)); }

void put_lowercase(char32_t c, std::string& out) {
  // The only character that becomes two whatever stands around it.
  if (c == 0x130) {
    out += "i\u0307";
  } else {
    utf8_append(static_cast<char32_t>(u_tolower(static_cast<UChar32>(c))), out);
  }
}

void put_without(const icu::UnicodeSet& set, char32_t c, std::string& out) {
  if (!is_in(set, c)) utf8_append(c, out);
}

void put_clean(char32_t c, std::string& out) {
  if (c == 0 || c == 0xFFFD || is_in(bert_control(), c)) return;
  utf8_append(is_white_space(c) ? U' ' : c, out);
}

void put_chinese_apart(char32_t c, std::string& out) {
  const bool apart = is_in(bert_chinese(), c);
  if (apart) out.push_back(' ');
  utf8_append(c, out);
  if (apart) out.push_back(' ');
}

std::string bert_text(const BertRules& rules, std::string_view text) {
  std::string out(text);
  if (rules.clean_text) out = map_characters(out, put_clean);
  if (rules.chinese_apart) out = map_characters(out, put_chinese_apart);
  if (rules.strip_accents) {
    out = map_characters(
        to_normal_form(normalizer(NormalForm::kD), out),
        [](char32_t c, std::string& stripped) { put_without(bert_marks(), c, stripped); });
  }
  if (rules.lowercase) out = map_characters(out, put_lowercase);
  return out;
}

void put_nmt(char32_t c, std::string& out) {
  const bool gone = (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) ||
                    c == 0x7F || c == 0x8F || c == 0x9F;
  const bool space = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                     (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                     c == 0xFEFF || c == 0xFFFD;
  if (!gone) utf8_append(space ? U' ' : c, out);
}

std::string_view stripped(std::string_view text, bool left, bool right) {
  const auto white_space_at = [&](size_t at) -> size_t {
    const size_t length = utf8_length(text, at);
    return length > 0 && is_white_space(utf8_decode(text.substr(at, length))) ? length : 0;
  };
  while (left && !text.empty()) {
    const size_t length = white_space_at(0);
    if (length == 0) break;
    text.remove_prefix(length);
  }
  while (right && !text.empty()) {
    size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) --begin;
    if (white_space_at(begin) != text.size() - begin) break;
    text.remove_suffix(text.size() - begin);
  }
  return text;
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  size_t at = 0;
  for (size_t hit; (hit = text.find(from, at)) != text.npos; at = hit + from.size()) {
    out.append(text.substr(at, hit - at)).append(to);
    check_growth(out.size(), text.size());
  }
  return out.append(text.substr(at));
}

std::string replace_matches(std::string_view text, const Regex& from, std::string_view to) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Run run = utf8_run(text, at);
    at += run.bytes.size();
    size_t done = 0;
    std::vector<Regex::Match> matches;
    if (run.well_formed) from.find_all(run.bytes, matches);
    for (const Regex::Match& match : matches) {
      out.append(run.bytes.substr(done, match.begin - done)).append(to);
      check_growth(out.size(), text.size());
      done = match.end;
    }
    out.append(run.bytes.substr(done));
  }
  return out;
}

}  // namespace

void check_growth(size_t size, size_t from) {
  constexpr size_t kAlways = size_t{1} << 16;
  constexpr size_t kFactor = 64;  // the longest compatibility decomposition has 18 characters
  if (size <= std::max(kAlways, kFactor * from) && size <= INT32_MAX) return;
  throw Error(ErrorKind::kTooLarge, "normalise text",
              fmt::format("{} bytes have become {}", from, size),
              "the tokenizer's rules are odd; give the ids themselves with --tokens");
}

Rewrite normal_form(NormalForm form) {
  return [&tables = normalizer(form)](std::string_view text, bool) {
    return to_normal_form(tables, text);
  };
}

Rewrite prepend(std::string prefix) {
  return [prefix = std::move(prefix)](std::string_view text, bool) {
    return text.empty() ? std::string() : prefix + std::string(text);
  };
}

Rewrite prepend_if_missing(std::string prefix, bool only_first) {
  return [prefix = std::move(prefix), only_first](std::string_view text, bool first) {
    const bool wanted = !text.empty() && !text.starts_with(prefix) && (first || !only_first);
    return wanted ? prefix + std::string(text) : std::string(text);
  };
}

Rewrite replace(std::string from, std::string to) {
  return [from = std::move(from), to = std::move(to)](std::string_view text, bool) {
    return from.empty() ? std::string(text) : replace_all(text, from, to);
  };
}

Rewrite replace(std::shared_ptr<const Regex> from, std::string to) {
  return [from = std::move(from), to = std::move(to)](std::string_view text, bool) {
    return replace_matches(text, *from, to);
  };
}

Rewrite lowercase() {
  return [](std::string_view text, bool) { return map_characters(text, put_lowercase); };
}

Rewrite strip_accents() {
  return [](std::string_view text, bool) {
    return map_characters(
        text, [](char32_t c, std::string& out) { put_without(combining_marks(), c, out); });
  };
}

Rewrite strip_white_space(bool left, bool right) {
  return [=](std::string_view text, bool) { return std::string(stripped(text, left, right)); };
}

Rewrite nmt() {
  return [](std::string_view text, bool) { return map_characters(text, put_nmt); };
}

Rewrite bert(BertRules rules) {
  return [=](std::string_view text, bool) { return bert_text(rules, text); };
}

}  // namespace sinkscope::text
