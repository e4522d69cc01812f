#include <unicode/brkiter.h>
#include <unicode/utext.h>

#include <memory>
#include <utility>

#include "sinkscope/base/error.h"
#include "sinkscope/text/rewrite.h"
#include "sinkscope/text/utf8.h"
#include "sinkscope/text/vocabulary.h"

namespace sinkscope::text {
namespace {

constexpr size_t kMaxWholeGrapheme = 5;  // bytes; the library's own bound

void check(UErrorCode status) {
  if (U_FAILURE(status)) {
    throw Error(ErrorKind::kInternal, "split text into graphemes", u_errorName(status));
  }
}

struct CloseText {
  void operator()(UText* text) const { utext_close(text); }
};

// visit(grapheme) for each of `text`, which is well-formed.
template <typename Visit>
void visit_graphemes(std::string_view text, Visit visit) {
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<icu::BreakIterator> breaks(
      icu::BreakIterator::createCharacterInstance(icu::Locale::getRoot(), status));
  check(status);
  const std::unique_ptr<UText, CloseText> source(
      utext_openUTF8(nullptr, text.data(), static_cast<int64_t>(text.size()), &status));
  check(status);
  breaks->setText(source.get(), status);
  check(status);
  int32_t begin = breaks->first();
  for (int32_t end = breaks->next(); end != icu::BreakIterator::DONE; end = breaks->next()) {
    visit(text.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
    begin = end;
  }
}

void put_grapheme(const Charsmap& map, std::string_view grapheme, std::string& out) {
  if (grapheme.size() <= kMaxWholeGrapheme) {
    if (const auto hit = map.shortest(grapheme)) {
      out.append(hit->replacement);
      return;
    }
  }
  for (size_t at = 0; at < grapheme.size();) {
    const std::string_view character = grapheme.substr(at, utf8_length(grapheme, at));
    const auto hit = map.shortest(character);
    out.append(hit ? hit->replacement : character);
    at += character.size();
  }
}

std::string map_graphemes(const Charsmap& map, std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Run run = utf8_run(text, at);
    at += run.bytes.size();
    if (!run.well_formed) {
      out.append(run.bytes);
      continue;
    }
    visit_graphemes(run.bytes, [&](std::string_view grapheme) {
      put_grapheme(map, grapheme, out);
      check_growth(out.size(), text.size());
    });
  }
  return out;
}

std::string map_longest(const Charsmap& map, std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (const auto hit = map.longest(text.substr(at))) {
      out.append(hit->replacement);
      check_growth(out.size(), text.size());
      at += hit->length;
    } else if (const size_t length = utf8_length(text, at); length > 0) {
      out.append(text.substr(at, length));
      at += length;
    } else {
      out.append("\uFFFD");
      ++at;
    }
  }
  return out;
}

std::string with_space_marks(std::string_view text, SpaceRules rules) {
  std::string out;
  bool in_word = false;
  bool prefix_due = rules.prefix;
  for (const char c : text) {
    if (c == ' ') {
      in_word = false;
      if (!rules.merge_spaces) out.append(kSpaceMark);
      continue;
    }
    if (!in_word && (prefix_due || rules.merge_spaces)) {
      out.append(kSpaceMark);
      prefix_due = false;
    }
    in_word = true;
    out.push_back(c);
  }
  return out;
}

}  // namespace

Rewrite precompiled(std::shared_ptr<const Charsmap> map) {
  return [map = std::move(map)](std::string_view text, bool) { return map_graphemes(*map, text); };
}

Rewrite sentencepiece(std::shared_ptr<const Charsmap> map_or_null, SpaceRules rules) {
  return [map = std::move(map_or_null), rules](std::string_view text, bool) {
    return with_space_marks(map ? map_longest(*map, text) : std::string(text), rules);
  };
}

}  // namespace sinkscope::text
