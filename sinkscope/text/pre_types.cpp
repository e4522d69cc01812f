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
std::string cased_pattern(std::string_view behind_word, std::string_view digits) {
  constexpr std::string_view upper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])";
  constexpr std::string_view lower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
  constexpr std::string_view before = R"([^\r\n\p{L}\p{N}]?)";
  return fmt::format(R"({0}{1}*{2}+{3}|{0}{1}+{2}*{3}|{4}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{5})",
                     before, upper, lower, behind_word, digits, kSpaces);
}

// As GPT-4 with each digit alone, but marks belong to words.
std::string marked_pattern() {
  return fmt::format(
      R"({}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|{}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{})",
      kContraction, kEachDigit, kSpaces);
}

enum class Rule {
  kGpt2,
  kDigitsGpt2,
  kFalcon,
  kGpt4,
  kGpt4EachDigit,
  kGpt4Marks,
  kGpt4o,
  kTekken,
  kBloom
};

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
    case Rule::kGpt4Marks: return {marked_pattern()};
    case Rule::kGpt4o: return {cased_pattern(fmt::format("{}?", kContraction), R"(\p{N}{1,3})")};
    case Rule::kTekken: return {cased_pattern("", kEachDigit)};
    case Rule::kBloom:
      return {R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C})]+)"};
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
    {"gigachat", Rule::kGpt2},
    {"a.x-4.0", Rule::kGpt2},
    {"mellum", Rule::kGpt2},
    {"modern-bert", Rule::kGpt2},
    {"exaone4", Rule::kGpt2},
    {"trillion", Rule::kGpt2},
    {"granite-docling", Rule::kGpt2},
    {"jina-es", Rule::kGpt2},
    {"jina-de", Rule::kGpt2},
    {"jina-v2-es", Rule::kGpt2},
    {"jina-v2-de", Rule::kGpt2},
    {"jina-v1-en", Rule::kGpt2},
    {"jina-v2-code", Rule::kGpt2},
    {"roberta-bpe", Rule::kGpt2},
    {"starcoder", Rule::kDigitsGpt2},
    {"smollm", Rule::kDigitsGpt2},
    {"refact", Rule::kDigitsGpt2},
    {"command-r", Rule::kDigitsGpt2},
    {"codeshell", Rule::kDigitsGpt2},
    {"exaone", Rule::kDigitsGpt2},
    {"minerva-7b", Rule::kDigitsGpt2},
    {"mellum2", Rule::kDigitsGpt2},
    {"falcon", Rule::kFalcon},
    {"llama-bpe", Rule::kGpt4, true, true},
    {"llama3", Rule::kGpt4, true, true},
    {"llama-v3", Rule::kGpt4, true, true},
    {"falcon3", Rule::kGpt4, true, true},
    {"falcon-h1", Rule::kGpt4, true, true},
    {"pixtral", Rule::kGpt4, true, true},
    {"midm-2.0", Rule::kGpt4, true, true},
    {"lfm2", Rule::kGpt4, true, true},
    {"jina-v5-nano", Rule::kGpt4, true, true},
    {"glm4", Rule::kGpt4, true},
    {"glm5", Rule::kGpt4, true},
    {"dbrx", Rule::kGpt4},
    {"smaug-bpe", Rule::kGpt4},
    {"chatglm-bpe", Rule::kGpt4},
    {"qwen2", Rule::kGpt4EachDigit},
    {"deepseek-r1-qwen", Rule::kGpt4EachDigit},
    {"stablelm2", Rule::kGpt4EachDigit},
    {"megrez", Rule::kGpt4EachDigit},
    {"hunyuan", Rule::kGpt4EachDigit},
    {"kormo", Rule::kGpt4EachDigit},
    {"f2llmv2", Rule::kGpt4EachDigit},
    {"solar-open", Rule::kGpt4EachDigit},
    {"grok-2", Rule::kGpt4EachDigit},
    {"qwen35", Rule::kGpt4Marks},
    {"gpt-4o", Rule::kGpt4o},
    {"o200k", Rule::kGpt4o},
    {"llama4", Rule::kGpt4o},
    {"kanana2", Rule::kGpt4o},
    {"talkie", Rule::kGpt4o},
    {"minimax-m2", Rule::kGpt4o},
    {"tekken", Rule::kTekken, true, true},
    {"bloom", Rule::kBloom},
    {"poro-chat", Rule::kBloom},
    {"gpt3-finnish", Rule::kBloom},
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
    type.pre_tokenizer.add(PreTokenizer::Split{Regex(pattern, fmt::format("pre type {}", name))});
  }
  return type;
}

}  // namespace sinkscope::text
