#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "sinkscope/base/error.h"
#include "sinkscope/io/printable.h"
#include "sinkscope/text/byte_letters.h"
#include "sinkscope/text/pipeline.h"
#include "sinkscope/text/tokenizer.h"

namespace sinkscope::text {
namespace {

constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kScores = "tokenizer.ggml.scores";
constexpr std::string_view kTypes = "tokenizer.ggml.token_type";
constexpr std::string_view kMerges = "tokenizer.ggml.merges";
constexpr std::string_view kHint = "the file is damaged or was written by a faulty converter";

enum TokenType : int64_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

std::string name_of(const io::GgufFile& file) {
  return file.files().empty() ? "GGUF file" : file.files().front().string();
}

[[noreturn]] void refuse(const io::GgufFile& file, std::string_view key, const std::string& seen) {
  throw Error(ErrorKind::kBadFile, "read tokenizer", file.place(key) + ": " + seen,
              std::string(kHint));
}

void check_count(const io::GgufFile& file, std::string_view key, size_t entries, size_t tokens) {
  if (entries != tokens) {
    refuse(file, key, fmt::format("{} entries for {} tokens", entries, tokens));
  }
}

/// An optional id of the vocabulary.
std::optional<int32_t> read_id(const io::GgufFile& file, std::string_view key, size_t tokens) {
  if (!file.has(key)) return std::nullopt;
  const int64_t id = file.integer(key);
  if (id < 0 || id >= static_cast<int64_t>(tokens)) {
    refuse(file, key, fmt::format("{} is outside 0..{}", id, static_cast<int64_t>(tokens) - 1));
  }
  return static_cast<int32_t>(id);
}

std::vector<int64_t> read_types(const io::GgufFile& file, size_t tokens) {
  if (!file.has(kTypes)) return std::vector<int64_t>(tokens, kNormal);
  std::vector<int64_t> types = file.integers(kTypes);
  check_count(file, kTypes, types.size(), tokens);
  return types;
}

std::vector<double> read_scores(const io::GgufFile& file, size_t tokens) {
  // Not numbers(): integers here are a sign of damage, a score is always a float.
  const io::GgufValue* const value = file.find_value(kScores);
  const auto* const scores = value ? std::get_if<std::vector<double>>(value) : nullptr;
  if (scores == nullptr) {
    refuse(file, kScores, value ? "is no array of floats" : "is absent, SentencePiece needs it");
  }
  check_count(file, kScores, scores->size(), tokens);
  const auto bad =
      std::find_if(scores->begin(), scores->end(), [](double s) { return std::isnan(s); });
  if (bad != scores->end()) {
    refuse(file, kScores, fmt::format("entry {} is no number", bad - scores->begin()));
  }
  return *scores;
}

// Phi-3's files lost the flags of their added tokens, which drop the white space behind them.
bool is_phi3(const io::GgufFile& file) {
  std::string name = file.text("general.name", "");
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return file.text("general.architecture", "") == "phi3" || name.find("phi-3") != name.npos ||
         name.find("phi3") != name.npos;
}

void add_special_tokens(const std::vector<std::string>& tokens, const std::vector<int64_t>& types,
                        bool phi3, Pipeline::Parts& parts) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string& token = tokens[i];
    if (types[i] != kControl && types[i] != kUserDefined && types[i] != kUnknown) continue;
    const bool strips = phi3 && token != "<unk>" && token != "<s>" && token != "<|endoftext|>";
    const SpecialTokens::Token entry{.id = static_cast<int32_t>(i), .strips_right = strips};
    parts.special.add(token, entry);
    // Phi-3's file calls the end of a text user-defined too; text from outside must not end itself.
    if (types[i] == kUserDefined && token != "</s>") parts.user_defined.add(token, entry);
  }
}

Vocabulary byte_level_vocabulary(const std::vector<std::string>& tokens,
                                 const std::vector<int64_t>& types) {
  Vocabulary vocabulary(static_cast<int64_t>(tokens.size()));
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    if (types[i] == kControl || types[i] == kUnknown || types[i] == kUserDefined) {
      vocabulary.set_bytes(id, tokens[i]);
      continue;
    }
    const std::optional<std::string> bytes = bytes_of_letters(tokens[i]);
    vocabulary.set_bytes(id, bytes.value_or(tokens[i]));
    if (bytes) vocabulary.set_piece(*bytes, id);
  }
  return vocabulary;
}

Vocabulary sentencepiece_vocabulary(const std::vector<std::string>& tokens,
                                    const std::vector<int64_t>& types) {
  Vocabulary vocabulary(static_cast<int64_t>(tokens.size()));
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    const auto byte = types[i] == kByte ? byte_of_token(tokens[i]) : std::nullopt;
    if (byte) {
      vocabulary.set_byte_id(*byte, id);
      vocabulary.set_bytes(id, std::string(1, static_cast<char>(*byte)));
    } else if (types[i] == kControl || types[i] == kUnknown || types[i] == kByte) {
      vocabulary.set_bytes(id, tokens[i]);
    } else {
      vocabulary.set_bytes(id, bytes_of_piece(tokens[i]));
      vocabulary.set_piece(tokens[i], id);
    }
  }
  return vocabulary;
}

void add_merges(const io::GgufFile& file, BpeModel& model) {
  const std::vector<std::string> merges = file.texts(kMerges);
  for (size_t i = 0; i < merges.size(); ++i) {
    const std::string_view merge = merges[i];
    const size_t space = merge.find(' ', 1);
    const auto fail = [&](std::string_view why) {
      refuse(file, kMerges, fmt::format("entry {} \"{}\" {}", i, io::printable(merge), why));
    };
    if (space == merge.npos) fail("is no pair");
    const auto left = bytes_of_letters(merge.substr(0, space));
    const auto right = bytes_of_letters(merge.substr(space + 1));
    if (!left || !right || !model.add_merge(*left, *right)) fail("joins what is no token");
  }
}

Pipeline::Parts byte_level_parts(const io::GgufFile& file, const std::vector<std::string>& tokens,
                                 const std::vector<int64_t>& types) {
  if (!file.has("tokenizer.ggml.pre")) {
    throw Error(ErrorKind::kUnsupported, "read tokenizer",
                name_of(file) +
                    ": tokenizer.ggml.pre is absent, so the rule that splits text "
                    "before BPE is unknown",
                "convert the model again, or give the ids themselves with --tokens");
  }
  const std::string pre = file.text("tokenizer.ggml.pre");
  PreType type = named_pre_type(pre, name_of(file));
  BpeModel model(byte_level_vocabulary(tokens, types),
                 {.units = BpeModel::Units::kBytes,
                  .whole_pieces = type.ignore_merges,
                  .unknown = read_id(file, "tokenizer.ggml.unknown_token_id", tokens.size())});
  add_merges(file, model);
  return {.kind = "BPE " + pre,
          .special = {},
          .user_defined = {},
          .normalizer = {},
          .pre_tokenizer = std::move(type.pre_tokenizer),
          .model = std::move(model),
          .adds_bos = type.adds_bos};
}

Pipeline::Parts sentencepiece_parts(const io::GgufFile& file,
                                    const std::vector<std::string>& tokens,
                                    const std::vector<int64_t>& types) {
  Normalizer normalizer;
  if (file.flag("tokenizer.ggml.add_space_prefix", true)) {
    normalizer.add_prepend(std::string(kSpaceMark));
  }
  normalizer.add_replace(" ", std::string(kSpaceMark));
  BpeModel model(sentencepiece_vocabulary(tokens, types),
                 {.units = BpeModel::Units::kCharacters,
                  .unknown = read_id(file, "tokenizer.ggml.unknown_token_id", tokens.size())},
                 read_scores(file, tokens.size()));
  return {.kind = "SPM",
          .special = {},
          .user_defined = {},
          .normalizer = std::move(normalizer),
          .pre_tokenizer = {},
          .model = std::move(model),
          .adds_bos = true};
}

}  // namespace

std::unique_ptr<Tokenizer> open_tokenizer(const io::GgufFile& file) {
  const std::string model = file.text("tokenizer.ggml.model");
  if (model != "gpt2" && model != "llama") {
    throw Error(ErrorKind::kUnsupported, "read tokenizer",
                fmt::format("{}: tokenizer.ggml.model \"{}\" (gpt2 and llama are read)",
                            name_of(file), io::printable(model)),
                "give the ids themselves with --tokens");
  }
  const std::vector<std::string> tokens = file.texts(kTokens);
  if (tokens.empty()) refuse(file, kTokens, "holds no token");
  const std::vector<int64_t> types = read_types(file, tokens.size());
  Pipeline::Parts parts = model == "gpt2" ? byte_level_parts(file, tokens, types)
                                          : sentencepiece_parts(file, tokens, types);
  add_special_tokens(tokens, types, model == "llama" && is_phi3(file), parts);
  parts.bos = read_id(file, "tokenizer.ggml.bos_token_id", tokens.size());
  parts.eos = read_id(file, "tokenizer.ggml.eos_token_id", tokens.size());
  parts.adds_bos = file.flag("tokenizer.ggml.add_bos_token", parts.adds_bos);
  return std::make_unique<Pipeline>(std::move(parts));
}

}  // namespace sinkscope::text
