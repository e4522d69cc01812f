#include "sinkscope/text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>

#include "sinkscope/base/error.h"
#include "sinkscope/text/utf8.h"

namespace sinkscope::text {
namespace {

// Enough for a run of a hundred million spaces, and about a second for a pattern that explodes.
constexpr uint32_t kMatchLimit = 100'000'000;

// PCRE2's \s has U+180E, which Unicode took out of White_Space; the tokenizers' \s has not.
std::string with_unicode_space(std::string_view pattern) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '\\' || i + 1 == pattern.size()) {
      out.push_back(pattern[i]);
      continue;
    }
    const char escaped = pattern[++i];
    if (escaped == 's') {
      out += "\\p{White_Space}";
    } else if (escaped == 'S') {
      out += "\\P{White_Space}";
    } else {
      out.append({'\\', escaped});
    }
  }
  return out;
}

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
  const std::string translated = with_unicode_space(pattern);
  int error = 0;
  PCRE2_SIZE position = 0;
  code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                            PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &position,
                            nullptr));
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
