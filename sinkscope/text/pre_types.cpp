#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sinkscope/base/error.h"
#include "sinkscope/io/printable.h"
#include "sinkscope/text/pre_tokenizer.h"

namespace sinkscope::text {

const std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

namespace {

// What GPT-4's pattern and its relatives share; %s: how many digits make a piece.
constexpr std::string_view kContraction = R"((?i:'s|'t|'re|'ve|'m|'ll|'d))";
constexpr std::string_view kWord = R"([^\r\n\p{L}\p{N}]?\p{L}+)";
constexpr std::string_view kSpaces = R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kEachDigit = R"(\p{N})";

std::string gpt4_pattern(std::string_view digits) {
  return fmt::format(R"({}|{}|{}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{})", kContraction, kWord, digits,
                     kSpaces);
}

// Words end where a lower-case run ends: "PascalCase" is two. Marks count as either case.
std::string gpt4o_pattern() {
  constexpr std::string_view upper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])";
  constexpr std::string_view lower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
  constexpr std::string_view before = R"([^\r\n\p{L}\p{N}]?)";
  return fmt::format(
      R"({0}{1}*{2}+{3}?|{0}{1}+{2}*{3}?|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{4})",
      before, upper, lower, kContraction, kSpaces);
}

enum class Rule { kGpt2, kDigitsGpt2, kFalcon, kGpt4, kGpt4EachDigit, kGpt4o };

std::vector<std::string> patterns(Rule rule) {
  switch (rule) {
    case Rule::kGpt2: return {std::string(kGpt2Pattern)};
    case Rule::kDigitsGpt2: return {std::string(kEachDigit), std::string(kGpt2Pattern)};
    case Rule::kFalcon:
      // Falcon cuts around digit runs too, between the bytes of a character even (U+00BD ends in a
      // byte whose letter is a digit). Its vocabulary never joins across such a cut, so it is left
      // out.
      return {R"([\p{P}$+<=>^|`~]+)", std::string(kGpt2Pattern), "[0-9]{3}"};
    case Rule::kGpt4: return {gpt4_pattern(R"(\p{N}{1,3})")};
    case Rule::kGpt4EachDigit: return {gpt4_pattern(kEachDigit)};
    case Rule::kGpt4o: return {gpt4o_pattern()};
  }
  return {};
}

struct NamedRule {
  std::string_view name;
  Rule rule;
  bool ignore_merges = false;
  bool adds_bos = false;
};

// The names llama.cpp's converter writes, by the rule they stand for.
constexpr NamedRule kNamedRules[] = {
    {"gpt-2", Rule::kGpt2},
    {"phi-2", Rule::kGpt2},
    {"mpt", Rule::kGpt2},
    {"olmo", Rule::kGpt2},
    {"jais", Rule::kGpt2},
    {"starcoder", Rule::kDigitsGpt2},
    {"smollm", Rule::kDigitsGpt2},
    {"refact", Rule::kDigitsGpt2},
    {"command-r", Rule::kDigitsGpt2},
    {"codeshell", Rule::kDigitsGpt2},
    {"falcon", Rule::kFalcon},
    {"llama-bpe", Rule::kGpt4, true, true},
    {"llama3", Rule::kGpt4, true, true},
    {"llama-v3", Rule::kGpt4, true, true},
    {"falcon3", Rule::kGpt4, true, true},
    {"dbrx", Rule::kGpt4},
    {"smaug-bpe", Rule::kGpt4},
    {"qwen2", Rule::kGpt4EachDigit},
    {"deepseek-r1-qwen", Rule::kGpt4EachDigit},
    {"stablelm2", Rule::kGpt4EachDigit},
    {"gpt-4o", Rule::kGpt4o},
    {"o200k", Rule::kGpt4o},
    {"llama4", Rule::kGpt4o},
};

}  // namespace

PreType named_pre_type(std::string_view name, const std::string& where) {
  const auto* const entry = std::find_if(std::begin(kNamedRules), std::end(kNamedRules),
                                         [&](const NamedRule& rule) { return rule.name == name; });
  if (entry == std::end(kNamedRules)) {
    throw Error(
        ErrorKind::kUnsupported, "read tokenizer",
        fmt::format("{}: tokenizer.ggml.pre \"{}\" has no rule here", where, io::printable(name)),
        "give the ids themselves with --tokens");
  }
  PreType type{{}, entry->ignore_merges, entry->adds_bos};
  for (const std::string& pattern : patterns(entry->rule)) {
    type.pre_tokenizer.add({Regex(pattern, fmt::format("pre type {}", name))});
  }
  return type;
}

}  // namespace sinkscope::text
