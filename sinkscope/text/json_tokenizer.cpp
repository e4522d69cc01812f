#include "sinkscope/text/json_tokenizer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "sinkscope/base/error.h"
#include "sinkscope/io/config_json.h"
#include "sinkscope/io/printable.h"
#include "sinkscope/text/byte_letters.h"
#include "sinkscope/text/json_steps.h"
#include "sinkscope/text/pipeline.h"

namespace sinkscope::text {
namespace {

using nlohmann::json;

// Ids may have holes, but an id far above the number of entries is damage, not a hole.
constexpr int64_t kMaxHoles = 1'000'000;

[[noreturn]] void refuse(const io::Config& at, const std::string& seen) {
  throw Error(ErrorKind::kBadFile, "read tokenizer", at.where() + ": " + seen,
              "fetch tokenizer.json again, or give the ids themselves with --tokens");
}

struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool special = false;
  bool strips_left = false;
  bool strips_right = false;
};

/// tokenizer.json as read: who is who.
struct Entries {
  std::vector<std::pair<std::string, int32_t>> vocabulary;
  std::vector<AddedToken> added;
  int64_t size = 0;  ///< highest id + 1

  std::optional<int32_t> find(std::string_view text) const {
    for (const AddedToken& token : added) {
      if (token.content == text) return token.id;
    }
    for (const auto& [spelling, id] : vocabulary) {
      if (spelling == text) return id;
    }
    return std::nullopt;
  }
};

int32_t checked_id(const io::Config& at, std::string_view token, int64_t id, int64_t limit) {
  if (id < 0 || id >= limit) {
    refuse(at, fmt::format("token \"{}\" has id {}, outside 0..{}", io::printable(token), id,
                           limit - 1));
  }
  return static_cast<int32_t>(id);
}

const json& vocabulary_of(const io::Config& model) {
  const auto vocab = model.json().find("vocab");
  if (vocab == model.json().end() || !vocab->is_object() || vocab->empty()) {
    refuse(model, "key vocab is no object with tokens");
  }
  return *vocab;
}

Entries read_entries(const io::Config& tokenizer, const io::Config& model) {
  Entries entries;
  const json& vocab = vocabulary_of(model);
  const std::vector<io::Config> added = objects(tokenizer, "added_tokens");
  const int64_t limit = static_cast<int64_t>(vocab.size() + added.size()) + kMaxHoles;
  for (const auto& [spelling, id] : vocab.items()) {
    if (!id.is_number_integer()) {
      refuse(model, fmt::format("vocab \"{}\" is no integer", io::printable(spelling)));
    }
    entries.vocabulary.emplace_back(spelling,
                                    checked_id(model, spelling, id.get<int64_t>(), limit));
    entries.size = std::max<int64_t>(entries.size, entries.vocabulary.back().second + 1);
  }
  for (const io::Config& token : added) {
    const std::string content = token.text({"content"});
    if (token.flag({"single_word"}, false)) refuse_construct(token, "added token with single_word");
    entries.added.push_back({content, checked_id(token, content, token.integer({"id"}), limit),
                             token.flag({"special"}, false), token.flag({"lstrip"}, false),
                             token.flag({"rstrip"}, false)});
    entries.size = std::max<int64_t>(entries.size, entries.added.back().id + 1);
  }
  return entries;
}

void add_piece(Vocabulary& vocabulary, const std::string& spelling, int32_t id, bool byte_level,
               bool byte_fallback) {
  if (byte_level) {
    const auto bytes = bytes_of_letters(spelling);
    vocabulary.set_bytes(id, bytes.value_or(spelling));
    if (bytes) vocabulary.set_piece(*bytes, id);
    return;
  }
  if (const auto byte = byte_fallback ? byte_of_token(spelling) : std::nullopt) {
    vocabulary.set_byte_id(*byte, id);
    vocabulary.set_bytes(id, std::string(1, static_cast<char>(*byte)));
    return;
  }
  vocabulary.set_bytes(id, bytes_of_piece(spelling));
  vocabulary.set_piece(spelling, id);
}

Vocabulary make_vocabulary(const Entries& entries, bool byte_level, bool byte_fallback) {
  Vocabulary vocabulary(entries.size);
  std::unordered_set<int32_t> special;
  for (const AddedToken& token : entries.added) {
    if (token.special) special.insert(token.id);
  }
  for (const auto& [spelling, id] : entries.vocabulary) {
    // Plain text never becomes a special token, not even by way of ignore_merges.
    if (!special.contains(id)) add_piece(vocabulary, spelling, id, byte_level, byte_fallback);
  }
  for (const AddedToken& token : entries.added) vocabulary.set_bytes(token.id, token.content);
  return vocabulary;
}

std::pair<std::string, std::string> read_merge(const io::Config& model, size_t index,
                                               const json& merge) {
  if (merge.is_string()) {
    const std::string& text = merge.get_ref<const std::string&>();
    const size_t space = text.find(' ', 1);
    if (space != text.npos) return {text.substr(0, space), text.substr(space + 1)};
  } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
             merge[1].is_string()) {
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  }
  refuse(model, fmt::format("merges entry {} is no pair", index));
}

void add_merges(const io::Config& model, bool byte_level, BpeModel& out) {
  const auto merges = model.json().find("merges");
  if (merges == model.json().end() || !merges->is_array()) {
    refuse(model, "key merges is no array");
  }
  for (size_t i = 0; i < merges->size(); ++i) {
    auto [left, right] = read_merge(model, i, (*merges)[i]);
    const std::string shown = io::printable(left + " " + right);
    if (byte_level) {
      left = bytes_of_letters(left).value_or("");
      right = bytes_of_letters(right).value_or("");
    }
    if (!out.add_merge(left, right)) {
      refuse(model, fmt::format("merges entry {} \"{}\" joins what is no token", i, shown));
    }
  }
}

void check_model(const io::Config& model) {
  // GPT-2's own file is older than the key "type".
  const std::string type = model.text({"type"}, model.has("merges") ? "BPE" : "without a type");
  if (type != "BPE") refuse_construct(model, "model " + type);
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!model.text({key}, "").empty()) refuse_construct(model, std::string(key) + " in the model");
  }
  if (model.number({"dropout"}, 0) != 0) refuse_construct(model, "dropout in the model");
}

BpeModel read_model(const io::Config& model, const Entries& entries, bool byte_level) {
  BpeModel::Options options{
      .units = byte_level ? BpeModel::Units::kBytes : BpeModel::Units::kCharacters,
      .whole_pieces = model.flag({"ignore_merges"}, false),
      .fuse_unknown = model.flag({"fuse_unk"}, false)};
  if (const std::string unknown = model.text({"unk_token"}, ""); !unknown.empty()) {
    options.unknown = entries.find(unknown);
    if (!options.unknown) {
      refuse(model, fmt::format("unk_token \"{}\" is no token", io::printable(unknown)));
    }
  }
  BpeModel out(make_vocabulary(entries, byte_level, model.flag({"byte_fallback"}, false)), options);
  add_merges(model, byte_level, out);
  return out;
}

/// The special token that the post-processor puts in front of a single text.
std::optional<std::string> front_token(const io::Config& processor) {
  const std::string type = processor.text({"type"}, "");
  if (type == "Sequence") {
    for (const io::Config& step : objects(processor, "processors")) {
      if (auto token = front_token(step)) return token;
    }
    return std::nullopt;
  }
  if (type != "TemplateProcessing") return std::nullopt;
  const std::vector<io::Config> items = objects(processor, "single");
  const auto token = items.empty() ? std::nullopt : items.front().child("SpecialToken");
  return token ? std::optional(token->text({"id"})) : std::nullopt;
}

/// bos_token or eos_token of tokenizer_config.json: text, or an object with `content`.
std::optional<int32_t> configured_id(const io::Config& config, std::string_view key,
                                     const Entries& entries) {
  const auto found = config.json().find(key);
  if (found == config.json().end() || found->is_null()) return std::nullopt;
  const std::string content =
      found->is_object() ? config.child(key)->text({"content"}) : config.text({key});
  const auto id = entries.find(content);
  if (!id) {
    refuse(config, fmt::format("{} \"{}\" is not in tokenizer.json", key, io::printable(content)));
  }
  return id;
}

void read_bos(const io::Config& tokenizer, const std::optional<io::Config>& config,
              const Entries& entries, bool byte_level, Pipeline::Parts& parts) {
  if (config) {
    parts.bos = configured_id(*config, "bos_token", entries);
    parts.eos = configured_id(*config, "eos_token", entries);
  }
  parts.adds_bos = !byte_level;
  if (const auto processor = tokenizer.child("post_processor")) {
    const auto front = front_token(*processor);
    const auto front_id = front ? entries.find(*front) : std::nullopt;
    if (!parts.bos) parts.bos = front_id;
    parts.adds_bos = front_id && front_id == parts.bos;
  }
  if (config) parts.adds_bos = config->flag({"add_bos_token"}, parts.adds_bos);
}

}  // namespace

std::unique_ptr<Tokenizer> read_tokenizer(const io::Config& tokenizer,
                                          const std::optional<io::Config>& config) {
  const auto model = tokenizer.child("model");
  if (!model) refuse(tokenizer, "key model is missing");
  check_model(*model);
  TextSteps steps = read_text_steps(tokenizer);
  const Entries entries = read_entries(tokenizer, *model);
  Pipeline::Parts parts{.kind = steps.byte_level ? "BPE byte-level" : "BPE with SentencePiece text",
                        .special = {},
                        .user_defined = {},
                        .normalizer = std::move(steps.normalizer),
                        .pre_tokenizer = std::move(steps.pre_tokenizer),
                        .model = read_model(*model, entries, steps.byte_level)};
  for (const AddedToken& token : entries.added) {
    const SpecialTokens::Token entry{token.id, token.strips_left, token.strips_right};
    parts.special.add(token.content, entry);
    if (!token.special) parts.user_defined.add(token.content, entry);
  }
  read_bos(tokenizer, config, entries, steps.byte_level, parts);
  return std::make_unique<Pipeline>(std::move(parts));
}

std::unique_ptr<Tokenizer> open_tokenizer(const std::filesystem::path& directory) {
  std::error_code ignored;  // what cannot be looked at counts as absent
  const auto exists = [&](const char* name) {
    return std::filesystem::exists(directory / name, ignored);
  };
  if (!exists("tokenizer.json")) {
    throw Error(ErrorKind::kUnsupported, "read tokenizer",
                fmt::format("{}: no tokenizer.json{}", directory.string(),
                            exists("tokenizer.model") ? " (tokenizer.model is not read)" : ""),
                "save the tokenizer in its fast form, or give the ids themselves with --tokens");
  }
  std::optional<io::Config> config;
  if (exists("tokenizer_config.json")) {
    config = io::Config::load(directory / "tokenizer_config.json");
  }
  return read_tokenizer(io::Config::load(directory / "tokenizer.json"), config);
}

}  // namespace sinkscope::text
