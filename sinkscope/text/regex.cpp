#include "sinkscope/text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <utility>

#include "sinkscope/base/error.h"
#include "sinkscope/text/utf8.h"

namespace sinkscope::text {
namespace {

// Enough for a run of a hundred million spaces, and about a second for a pattern that explodes.
constexpr uint32_t kMatchLimit = 100'000'000;

/// Rewrites what Oniguruma and PCRE2 read differently:
/// - \s: PCRE2's has U+180E, which Unicode took out of White_Space;
/// - a class inside a class ("[a[bc]]", BLOOM's pattern) is a union, PCRE2 would take "["
/// literally.
class Translator {
 public:
  Translator(std::string_view pattern, const std::string& where)
      : pattern_(pattern), where_(where) {}

  std::string run() {
    while (at_ < pattern_.size()) {
      if (pattern_[at_] == '\\' && at_ + 1 < pattern_.size()) {
        put_escape();
      } else if (depth_ > 0) {
        put_in_class();
      } else {
        if (pattern_[at_] == '[') open_class();
        out_.push_back(pattern_[at_++]);
      }
    }
    return std::move(out_);
  }

 private:
  bool sees(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }

  void put_escape() {
    const char escaped = pattern_[at_ + 1];
    at_ += 2;
    if (escaped == 's') {
      out_ += "\\p{White_Space}";
    } else if (escaped == 'S') {
      out_ += "\\P{White_Space}";
    } else {
      out_.append({'\\', escaped});
    }
  }

  // Leaves the last character of the opening to the caller; "]" right behind it is literal.
  void open_class() {
    depth_ = 1;
    for (const char next : {'^', ']'}) {
      if (at_ + 1 < pattern_.size() && pattern_[at_ + 1] == next) out_.push_back(pattern_[at_++]);
    }
  }

  void put_in_class() {
    const char c = pattern_[at_];
    if (sees("[:")) {
      const size_t end = pattern_.find(":]", at_ + 2);
      const size_t length = end == pattern_.npos ? 2 : end + 2 - at_;
      out_ += pattern_.substr(at_, length);
      at_ += length;
      return;
    }
    if (sees("&&")) refuse("an intersection of character classes");
    if (sees("[^")) refuse("a negated class inside a character class");
    if (c == '[') ++depth_;
    if (c == ']') --depth_;
    const bool inner_bracket = c == '[' || (c == ']' && depth_ > 0);
    if (!inner_bracket) out_.push_back(c);
    ++at_;
  }

  [[noreturn]] void refuse(std::string_view construct) const {
    throw Error(ErrorKind::kUnsupported, "compile a pre-tokenizer pattern",
                fmt::format("{}: {} at byte {} of {}", where_, construct, at_, pattern_),
                "give the ids themselves with --tokens");
  }

  std::string_view pattern_;
  const std::string& where_;
  std::string out_;
  size_t at_ = 0;
  int depth_ = 0;
};

std::string message_of(int code) {
  PCRE2_UCHAR buffer[256];
  pcre2_get_error_message(code, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

struct FreeMatchData {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

}  // namespace

void Regex::Free::operator()(pcre2_code* code) const { pcre2_code_free(code); }
void Regex::Free::operator()(pcre2_match_context* context) const {
  pcre2_match_context_free(context);
}

Regex::Regex(std::string_view pattern, const std::string& where) : where_(where) {
  const std::string translated = Translator(pattern, where).run();
  int error = 0;
  PCRE2_SIZE position = 0;
  // In Oniguruma ^ and $ hold at every line.
  constexpr uint32_t kOptions = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
  code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                            kOptions, &error, &position, nullptr));
  if (!code_) {
    throw Error(
        ErrorKind::kUnsupported, "compile a pre-tokenizer pattern",
        fmt::format("{}: {} at byte {} of {}", where, message_of(error), position, translated),
        "give the ids themselves with --tokens");
  }
  // Without JIT (a hardened kernel) the interpreter gives the same matches.
  pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);
  context_.reset(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(context_.get(), kMatchLimit);
}

void Regex::find_all(std::string_view text, std::vector<Match>& out) const {
  const std::unique_ptr<pcre2_match_data, FreeMatchData> data(
      pcre2_match_data_create_from_pattern(code_.get(), nullptr));
  const auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const PCRE2_SIZE* range = pcre2_get_ovector_pointer(data.get());
  size_t at = 0;
  while (at <= text.size()) {
    const auto match = [&](uint32_t options) {
      return pcre2_match(code_.get(), subject, text.size(), at, PCRE2_NO_UTF_CHECK | options,
                         data.get(), context_.get());
    };
    int found = match(0);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = match(PCRE2_NO_JIT);
    if (found == PCRE2_ERROR_NOMATCH) return;
    if (found < 0) {
      throw Error(ErrorKind::kTooLarge, "split text by a pre-tokenizer pattern",
                  fmt::format("{}: {} at byte {}", where_, message_of(found), at),
                  "split the input, or give the ids themselves with --tokens");
    }
    // \K can put the start behind the end, or before the last match.
    const Match hit{std::max<size_t>(range[0], at), std::max<size_t>(range[1], at)};
    out.push_back({std::min(hit.begin, hit.end), hit.end});
    at = hit.end;
    if (hit.begin >= hit.end) at += at < text.size() ? utf8_length(text, at) : 1;
  }
}

}  // namespace sinkscope::text
