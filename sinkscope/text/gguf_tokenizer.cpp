#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>
#include <utility>

#include "sinkscope/base/error.h"
#include "sinkscope/io/printable.h"
#include "sinkscope/text/bpe_model.h"
#include "sinkscope/text/byte_letters.h"
#include "sinkscope/text/pipeline.h"
#include "sinkscope/text/tokenizer.h"
#include "sinkscope/text/unicode_sets.h"
#include "sinkscope/text/unigram_model.h"
#include "sinkscope/text/wordpiece_model.h"

namespace sinkscope::text {
namespace {

constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kScores = "tokenizer.ggml.scores";
constexpr std::string_view kTypes = "tokenizer.ggml.token_type";
constexpr std::string_view kMerges = "tokenizer.ggml.merges";
constexpr std::string_view kUnknown = "tokenizer.ggml.unknown_token_id";
constexpr std::string_view kCharsmap = "tokenizer.ggml.precompiled_charsmap";
constexpr std::string_view kHint = "the file is damaged or was written by a faulty converter";

enum TokenType : int64_t { kNormal = 1, kUnknownType, kControl, kUserDefined, kUnused, kByte };

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
    refuse(file, kScores, value ? "is no array of floats" : "is absent, the model needs it");
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
    if (types[i] != kControl && types[i] != kUserDefined && types[i] != kUnknownType) continue;
    const bool strips = phi3 && token != "<unk>" && token != "<s>" && token != "<|endoftext|>";
    const SpecialTokens::Token entry{.id = static_cast<int32_t>(i), .strips_right = strips};
    parts.as_written.special.add(token, entry);
    // Phi-3's file calls the end of a text user-defined too; text from outside must not end itself.
    if (types[i] == kUserDefined && token != "</s>")
      parts.as_written.user_defined.add(token, entry);
  }
}

Vocabulary byte_level_vocabulary(const std::vector<std::string>& tokens,
                                 const std::vector<int64_t>& types) {
  Vocabulary vocabulary(static_cast<int64_t>(tokens.size()));
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    if (types[i] == kControl || types[i] == kUnknownType || types[i] == kUserDefined) {
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
    } else if (types[i] == kControl || types[i] == kUnknownType || types[i] == kByte) {
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
  auto model = std::make_unique<BpeModel>(
      byte_level_vocabulary(tokens, types),
      BpeModel::Options{.units = BpeModel::Units::kBytes,
                        .whole_pieces = type.ignore_merges,
                        .unknown = read_id(file, kUnknown, tokens.size())});
  add_merges(file, *model);
  Pipeline::Parts parts;
  parts.kind = "BPE " + pre;
  parts.pre_tokenizer = std::move(type.pre_tokenizer);
  parts.model = std::move(model);
  parts.adds_bos = type.adds_bos;
  return parts;
}

Pipeline::Parts sentencepiece_parts(const io::GgufFile& file,
                                    const std::vector<std::string>& tokens,
                                    const std::vector<int64_t>& types) {
  Pipeline::Parts parts;
  parts.kind = "SPM";
  if (file.flag("tokenizer.ggml.add_space_prefix", true)) {
    parts.normalizer.push_back(prepend(std::string(kSpaceMark)));
  }
  parts.normalizer.push_back(replace(" ", std::string(kSpaceMark)));
  parts.model = std::make_unique<BpeModel>(
      sentencepiece_vocabulary(tokens, types),
      BpeModel::Options{.units = BpeModel::Units::kCharacters,
                        .unknown = read_id(file, kUnknown, tokens.size())},
      read_scores(file, tokens.size()));
  parts.adds_bos = true;
  return parts;
}

// llama.cpp's form of BERT's vocabulary: U+2581 marks the start of a word, a continuation has no
// mark. A word may have any length there.
std::unique_ptr<WordPieceModel> wordpiece_model(const io::GgufFile& file,
                                                const std::vector<std::string>& tokens,
                                                const std::vector<int64_t>& types) {
  const auto unknown = read_id(file, kUnknown, tokens.size());
  if (!unknown) refuse(file, kUnknown, "is absent, WordPiece needs it");
  Vocabulary vocabulary(static_cast<int64_t>(tokens.size()));
  for (size_t i = 0; i < tokens.size(); ++i) {
    vocabulary.set_bytes(static_cast<int32_t>(i), bytes_of_piece(tokens[i]));
  }
  auto model = std::make_unique<WordPieceModel>(std::move(vocabulary),
                                                WordPieceModel::Options{.unknown = *unknown});
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (types[i] == kControl || types[i] == kUnknownType) continue;
    const std::string_view token = tokens[i];
    const auto id = static_cast<int32_t>(i);
    if (token.starts_with(kSpaceMark)) {
      model->add_start(token.substr(kSpaceMark.size()), id);
    } else {
      model->add_continuation(token, id);
    }
  }
  return model;
}

Pipeline::Parts wordpiece_parts(const io::GgufFile& file, const std::vector<std::string>& tokens,
                                const std::vector<int64_t>& types) {
  BertRules rules;
  rules.lowercase = file.flag("tokenizer.ggml.normalizer.lowercase", true);
  rules.strip_accents = file.flag("tokenizer.ggml.normalizer.strip_accents", rules.lowercase);
  Pipeline::Parts parts;
  parts.kind = "WordPiece";
  parts.normalizer.push_back(bert(rules));
  parts.pre_tokenizer.add({Regex(R"(\s)", "BERT"), SplitBehaviour::kRemoved});
  parts.pre_tokenizer.add({Regex(regex_class(bert_punctuation()), "BERT")});
  parts.model = wordpiece_model(file, tokens, types);
  parts.adds_bos = true;
  return parts;
}

std::shared_ptr<const Charsmap> read_charsmap(const io::GgufFile& file) {
  if (!file.has(kCharsmap)) return nullptr;
  std::string bytes;
  for (const int64_t byte : file.integers(kCharsmap)) {
    if (byte < -128 || byte > 255) refuse(file, kCharsmap, fmt::format("{} is no byte", byte));
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes.empty() ? nullptr
                       : std::make_shared<const Charsmap>(std::move(bytes), file.place(kCharsmap));
}

Pipeline::Parts unigram_parts(const io::GgufFile& file, const std::vector<std::string>& tokens,
                              const std::vector<int64_t>& types) {
  const std::vector<double> scores = read_scores(file, tokens.size());
  Vocabulary vocabulary(static_cast<int64_t>(tokens.size()));
  double lowest = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    vocabulary.set_bytes(static_cast<int32_t>(i), bytes_of_piece(tokens[i]));
    if (types[i] == kNormal) lowest = std::min(lowest, scores[i]);
  }
  auto model = std::make_unique<UnigramModel>(
      std::move(vocabulary), UnigramModel::Options{read_id(file, kUnknown, tokens.size()), lowest});
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (types[i] != kNormal && types[i] != kUserDefined && types[i] != kUnused) continue;
    // llama.cpp prefers a user-defined token to any spelling of it.
    model->add(tokens[i], static_cast<int32_t>(i), types[i] == kUserDefined ? 0 : scores[i]);
  }
  Pipeline::Parts parts;
  parts.kind = "Unigram";
  parts.normalizer.push_back(
      sentencepiece(read_charsmap(file),
                    {.prefix = file.flag("tokenizer.ggml.add_space_prefix", false),
                     .merge_spaces = file.flag("tokenizer.ggml.remove_extra_whitespaces", false)}));
  parts.model = std::move(model);
  return parts;
}

Pipeline::Parts read_parts(const io::GgufFile& file, const std::string& model,
                           const std::vector<std::string>& tokens,
                           const std::vector<int64_t>& types) {
  if (model == "gpt2") return byte_level_parts(file, tokens, types);
  if (model == "llama") return sentencepiece_parts(file, tokens, types);
  if (model == "bert") return wordpiece_parts(file, tokens, types);
  return unigram_parts(file, tokens, types);
}

void check_model(const io::GgufFile& file, const std::string& model) {
  if (model == "gpt2" || model == "llama" || model == "bert" || model == "t5") return;
  throw Error(ErrorKind::kUnsupported, "read tokenizer",
              fmt::format("{}: tokenizer.ggml.model \"{}\" (gpt2, llama, bert and t5 are read)",
                          name_of(file), io::printable(model)),
              "give the ids themselves with --tokens");
}

/// Reads what stands in front of and behind a text. `model` decides what holds where the file is
/// silent, as in llama.cpp.
void read_around(const io::GgufFile& file, const std::string& model, size_t tokens,
                 Pipeline::Parts& parts) {
  const bool is_bert = model == "bert";
  parts.bos = read_id(file, "tokenizer.ggml.bos_token_id", tokens);
  if (is_bert && !parts.bos) parts.bos = read_id(file, "tokenizer.ggml.cls_token_id", tokens);
  parts.eos = read_id(file, "tokenizer.ggml.eos_token_id", tokens);
  parts.adds_bos = file.flag("tokenizer.ggml.add_bos_token", parts.adds_bos);
  const bool closes = is_bert ? file.flag("tokenizer.ggml.add_sep_token", true)
                              : file.flag("tokenizer.ggml.add_eos_token", model == "t5");
  if (!closes) return;
  constexpr std::string_view kSeparator = "tokenizer.ggml.seperator_token_id";  // llama.cpp's word
  const auto closing = is_bert ? read_id(file, kSeparator, tokens) : parts.eos;
  if (!closing) {
    refuse(file, is_bert ? kSeparator : "tokenizer.ggml.eos_token_id",
           "is absent, but the file wants it behind each text");
  }
  parts.closing = {*closing};
}

}  // namespace

std::unique_ptr<Tokenizer> open_tokenizer(const io::GgufFile& file) {
  const std::string model = file.text("tokenizer.ggml.model");
  check_model(file, model);
  const std::vector<std::string> tokens = file.texts(kTokens);
  if (tokens.empty()) refuse(file, kTokens, "holds no token");
  const std::vector<int64_t> types = read_types(file, tokens.size());
  Pipeline::Parts parts = read_parts(file, model, tokens, types);
  add_special_tokens(tokens, types, model == "llama" && is_phi3(file), parts);
  read_around(file, model, tokens.size(), parts);
  return std::make_unique<Pipeline>(std::move(parts));
}

}  // namespace sinkscope::text
