#include <string>
#include <utility>

#include "sinkscope/text/byte_letters.h"
#include "sinkscope/text/json_reading.h"
#include "sinkscope/text/json_steps.h"
#include "sinkscope/text/unicode_sets.h"
#include "sinkscope/text/vocabulary.h"

namespace sinkscope::text {
namespace {

constexpr std::string_view kWhiteSpace = R"(\s)";

SplitBehaviour read_behaviour(const io::Config& at) {
  const std::string name = at.text({"behavior"}, "Isolated");
  if (name == "Isolated") return SplitBehaviour::kIsolated;
  if (name == "Removed") return SplitBehaviour::kRemoved;
  if (name == "MergedWithPrevious") return SplitBehaviour::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehaviour::kMergedWithNext;
  if (name == "Contiguous") return SplitBehaviour::kContiguous;
  refuse_construct(at, "behavior " + name);
}

/// What the library's Whitespace keeps: runs of word characters, and of others but white space.
std::string words_and_signs() {
  icu::UnicodeSet word_or_space;  // not a copy of one: copies of frozen sets are frozen
  word_or_space.addAll(word_characters()).addAll(white_space());
  return regex_class(word_characters()) + "+|" + regex_class(word_or_space, true) + "+";
}

std::string letters_of_bytes(std::string_view text, bool) {
  std::string out;
  for (const char byte : text) out += letter_of_byte(static_cast<uint8_t>(byte));
  return out;
}

std::string bytes_of_text_in_letters(std::string_view text, bool) {
  return bytes_of_letters(text).value_or(std::string(text));
}

/// Reads the steps one after the other.
class Reader {
 public:
  explicit Reader(PreTokenizerSteps& out) : out_(out) {}

  void read_all(const io::Config& at) {
    read(at);
    if (in_letters_) out_.pre_tokenizer.add(Rewrite(bytes_of_text_in_letters));
  }

 private:
  void read(const io::Config& at) {
    const std::string type = at.text({"type"});
    if (type == "Sequence") {
      for (const io::Config& step : objects(at, "pretokenizers")) read(step);
      return;
    }
    if (out_.byte_level) enter_letters(at, type);
    read_step(at, type);
  }

  void read_step(const io::Config& at, const std::string& type) {
    using enum SplitBehaviour;
    if (type == "ByteLevel") {
      read_byte_level(at);
    } else if (type == "Metaspace") {
      read_metaspace(at);
    } else if (type == "BertPreTokenizer") {
      split(at, kWhiteSpace, kRemoved);
      split(at, regex_class(bert_punctuation()));
    } else if (type == "Whitespace") {
      split(at, words_and_signs(), kRemoved, /*invert=*/true);
    } else if (type == "WhitespaceSplit") {
      split(at, kWhiteSpace, kRemoved);
    } else if (type == "CharDelimiterSplit") {
      split(at, escaped(at.text({"delimiter"})), kRemoved);
    } else if (type == "Digits") {
      split(at, at.flag({"individual_digits"}, false) ? R"(\p{N})" : R"(\p{N}+)");
    } else if (type == "Punctuation") {
      split(at, regex_class(bert_punctuation()), read_behaviour(at));
    } else if (type == "Split") {
      const Pattern pattern = read_pattern(at);
      split(at, pattern.literal ? escaped(pattern.text) : pattern.text, read_behaviour(at),
            at.flag({"invert"}, false));
    } else {
      refuse_construct(at, "pre_tokenizer " + type);
    }
  }

  void split(const io::Config& at, std::string_view pattern,
             SplitBehaviour behaviour = SplitBehaviour::kIsolated, bool invert = false) {
    out_.pre_tokenizer.add(PreTokenizer::Split{Regex(pattern, at.where()), behaviour, invert});
  }

  // A step behind ByteLevel (Falcon has some) sees the letters that stand for bytes. The model
  // wants bytes, so they are spelt out only while such steps run.
  void enter_letters(const io::Config& at, const std::string& type) {
    if (type == "ByteLevel" || type == "Metaspace") {
      refuse_construct(at, "pre_tokenizer " + type + " behind ByteLevel");
    }
    if (!in_letters_) out_.pre_tokenizer.add(Rewrite(letters_of_bytes));
    in_letters_ = true;
  }

  void read_byte_level(const io::Config& at) {
    if (at.flag({"add_prefix_space"}, true)) {
      out_.pre_tokenizer.add(prepend_if_missing(" ", /*only_first=*/false));
    }
    if (at.flag({"use_regex"}, true)) split(at, kGpt2Pattern);
    out_.byte_level = true;
  }

  void read_metaspace(const io::Config& at) {
    const std::string mark = at.text({"replacement"}, kSpaceMark);
    const bool legacy_prefix = at.flag({"add_prefix_space"}, true);
    const std::string scheme = at.text({"prepend_scheme"}, legacy_prefix ? "always" : "never");
    if (scheme != "always" && scheme != "first" && scheme != "never") {
      refuse_construct(at, "prepend_scheme " + scheme);
    }
    out_.pre_tokenizer.add(replace(" ", mark));
    if (scheme != "never") {
      out_.pre_tokenizer.add(prepend_if_missing(mark, scheme == "first"));
    }
    if (at.flag({"split"}, true)) split(at, escaped(mark), SplitBehaviour::kMergedWithNext);
  }

  PreTokenizerSteps& out_;
  bool in_letters_ = false;
};

}  // namespace

PreTokenizerSteps read_pre_tokenizer(const io::Config& tokenizer) {
  PreTokenizerSteps steps;
  if (const auto at = tokenizer.child("pre_tokenizer")) Reader(steps).read_all(*at);
  return steps;
}

}  // namespace sinkscope::text
