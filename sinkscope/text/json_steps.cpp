#include "sinkscope/text/json_steps.h"

#include <fmt/format.h>

#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "sinkscope/base/error.h"
#include "sinkscope/io/printable.h"
#include "sinkscope/text/vocabulary.h"

namespace sinkscope::text {
namespace {

// The constructs are small; a vocabulary never comes through here.
io::Config element(const io::Config& at, std::string_view key, size_t index,
                   const nlohmann::json& value) {
  return io::Config::parse(value.dump(), fmt::format("{}: {}[{}]", at.where(), key, index));
}

std::string escaped(std::string_view literal) {
  std::string pattern;
  for (const char c : literal) {
    if (c >= 0 && std::isalnum(static_cast<unsigned char>(c)) == 0) pattern.push_back('\\');
    pattern.push_back(c);
  }
  return pattern;
}

/// A `pattern`: {"String": ..} or {"Regex": ..}.
struct Pattern {
  std::string text;
  bool literal = false;
};

Pattern read_pattern(const io::Config& at) {
  const auto pattern = at.child("pattern");
  if (!pattern) refuse_construct(at, "without an object under pattern");
  if (pattern->has("String")) return {pattern->text({"String"}), true};
  return {pattern->text({"Regex"}), false};
}

SplitBehaviour read_behaviour(const io::Config& at) {
  const std::string name = at.text({"behavior"}, "Isolated");
  if (name == "Isolated") return SplitBehaviour::kIsolated;
  if (name == "Removed") return SplitBehaviour::kRemoved;
  if (name == "MergedWithPrevious") return SplitBehaviour::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehaviour::kMergedWithNext;
  if (name == "Contiguous") return SplitBehaviour::kContiguous;
  refuse_construct(at, "behavior " + name);
}

void read_normalizer(const io::Config& at, Normalizer& out) {
  const std::string type = at.text({"type"});
  if (type == "Sequence") {
    for (const io::Config& step : objects(at, "normalizers")) read_normalizer(step, out);
  } else if (type == "NFC") {
    out.add_nfc();
  } else if (type == "Prepend") {
    out.add_prepend(at.text({"prepend"}));
  } else if (type == "Replace") {
    const Pattern pattern = read_pattern(at);
    if (!pattern.literal) refuse_construct(at, "normalizer Replace with a Regex");
    out.add_replace(pattern.text, at.text({"content"}));
  } else {
    refuse_construct(at, "normalizer " + type);
  }
}

/// Reads the steps of `pre_tokenizer` one after the other.
class PreTokenizerReader {
 public:
  explicit PreTokenizerReader(TextSteps& out) : out_(out) {}

  void read(const io::Config& at) {
    const std::string type = at.text({"type"});
    if (type == "Sequence") {
      for (const io::Config& step : objects(at, "pretokenizers")) read(step);
      return;
    }
    // Behind ByteLevel a step would see the letters that stand for bytes instead of the text.
    if (out_.byte_level) refuse_construct(at, "pre_tokenizer " + type + " behind ByteLevel");
    if (type == "ByteLevel") {
      read_byte_level(at);
    } else if (type == "Metaspace") {
      read_metaspace(at);
    } else if (type == "Digits") {
      add(at, at.flag({"individual_digits"}, false) ? R"(\p{N})" : R"(\p{N}+)");
    } else if (type == "Punctuation") {
      add(at, R"([\p{P}$+<=>^`|~])", read_behaviour(at));
    } else if (type == "Split") {
      const Pattern pattern = read_pattern(at);
      add(at, pattern.literal ? escaped(pattern.text) : pattern.text, read_behaviour(at),
          at.flag({"invert"}, false));
    } else {
      refuse_construct(at, "pre_tokenizer " + type);
    }
  }

 private:
  void add(const io::Config& at, std::string_view pattern,
           SplitBehaviour behaviour = SplitBehaviour::kIsolated, bool invert = false) {
    out_.pre_tokenizer.add({Regex(pattern, at.where()), behaviour, invert});
    first_ = false;
  }

  // A prefix belongs to the whole text, so it cannot come after a split.
  void check_first(const io::Config& at, std::string_view construct) const {
    if (!first_) refuse_construct(at, fmt::format("{} behind another pre_tokenizer", construct));
  }

  void read_byte_level(const io::Config& at) {
    if (at.flag({"add_prefix_space"}, true)) {
      check_first(at, "ByteLevel with add_prefix_space");
      out_.normalizer.add_prepend_if_missing(" ", /*only_first=*/false);
    }
    if (at.flag({"use_regex"}, true)) add(at, kGpt2Pattern);
    out_.byte_level = true;
  }

  void read_metaspace(const io::Config& at) {
    check_first(at, "Metaspace");
    const std::string mark = at.text({"replacement"}, kSpaceMark);
    const bool legacy_prefix = at.flag({"add_prefix_space"}, true);
    const std::string scheme = at.text({"prepend_scheme"}, legacy_prefix ? "always" : "never");
    if (scheme != "always" && scheme != "first" && scheme != "never") {
      refuse_construct(at, "prepend_scheme " + scheme);
    }
    out_.normalizer.add_replace(" ", mark);
    if (scheme != "never") out_.normalizer.add_prepend_if_missing(mark, scheme == "first");
    if (at.flag({"split"}, true)) add(at, escaped(mark), SplitBehaviour::kMergedWithNext);
  }

  TextSteps& out_;
  bool first_ = true;
};

}  // namespace

void refuse_construct(const io::Config& at, std::string_view construct) {
  throw Error(ErrorKind::kUnsupported, "read tokenizer",
              fmt::format("{}: {}", at.where(), io::printable(construct)),
              "use the model's GGUF file, or give the ids themselves with --tokens");
}

std::vector<io::Config> objects(const io::Config& at, std::string_view key) {
  std::vector<io::Config> out;
  const auto found = at.json().find(key);
  if (found == at.json().end() || found->is_null()) return out;
  if (!found->is_array()) {
    throw Error(ErrorKind::kBadFile, "read tokenizer",
                fmt::format("{}: key {} is no array", at.where(), key),
                "fetch the file again, or give the ids themselves with --tokens");
  }
  for (size_t i = 0; i < found->size(); ++i) out.push_back(element(at, key, i, (*found)[i]));
  return out;
}

TextSteps read_text_steps(const io::Config& tokenizer) {
  TextSteps steps;
  if (const auto normalizer = tokenizer.child("normalizer")) {
    read_normalizer(*normalizer, steps.normalizer);
  }
  if (const auto pre_tokenizer = tokenizer.child("pre_tokenizer")) {
    PreTokenizerReader(steps).read(*pre_tokenizer);
  }
  return steps;
}

}  // namespace sinkscope::text
