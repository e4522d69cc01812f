#include "sinkscope/text/json_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "sinkscope/io/printable.h"
#include "sinkscope/text/bpe_model.h"
#include "sinkscope/text/byte_letters.h"
#include "sinkscope/text/json_reading.h"
#include "sinkscope/text/unigram_model.h"
#include "sinkscope/text/wordpiece_model.h"

namespace sinkscope::text {
namespace {

using nlohmann::json;

void set_added_bytes(const JsonEntries& entries, Vocabulary& vocabulary) {
  for (const AddedToken& token : entries.added) vocabulary.set_bytes(token.id, token.content);
}

/// Calls visit(spelling, id, place) for what plain text may become: never a special token, not even
/// by way of ignore_merges.
template <typename Visit>
void visit_plain(const JsonEntries& entries, Visit visit) {
  std::unordered_set<int32_t> special;
  for (const AddedToken& token : entries.added) {
    if (token.special) special.insert(token.id);
  }
  for (size_t i = 0; i < entries.vocabulary.size(); ++i) {
    const auto& [spelling, id] = entries.vocabulary[i];
    if (!special.contains(id)) visit(spelling, id, i);
  }
}

/// Whether `spelling` is a byte token (<0x0A>); it is entered then.
bool add_byte(Vocabulary& vocabulary, const std::string& spelling, int32_t id) {
  const auto byte = byte_of_token(spelling);
  if (!byte) return false;
  vocabulary.set_byte_id(*byte, id);
  vocabulary.set_bytes(id, std::string(1, static_cast<char>(*byte)));
  return true;
}

std::optional<int32_t> read_unknown(const io::Config& model, const JsonEntries& entries,
                                    std::string_view fallback) {
  const std::string unknown = model.text({"unk_token"}, fallback);
  if (unknown.empty()) return std::nullopt;
  const auto id = entries.find(unknown);
  if (!id) {
    refuse_damage(model, fmt::format("unk_token \"{}\" is no token", io::printable(unknown)));
  }
  return id;
}

std::string without(std::string_view text, std::string_view prefix, std::string_view suffix) {
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  if (suffix.empty() || !text.ends_with(suffix)) return std::string(text);
  text.remove_suffix(suffix.size());
  return std::string(text) + ' ';  // the end of a word, as the library's decoder writes it
}

Vocabulary read_bpe_vocabulary(const io::Config& model, const JsonEntries& entries,
                               const BpeModel::Options& options) {
  const bool byte_level = options.units == BpeModel::Units::kBytes;
  const bool fallback = model.flag({"byte_fallback"}, false);
  Vocabulary vocabulary(entries.size);
  visit_plain(entries, [&](const std::string& spelling, int32_t id, size_t) {
    const auto set = [&](const std::string& piece, std::string bytes) {
      vocabulary.set_piece(piece, id);
      vocabulary.set_bytes(id, std::move(bytes));
    };
    if (!byte_level) {
      if (fallback && add_byte(vocabulary, spelling, id)) return;
      set(spelling, without(bytes_of_piece(spelling), options.inner_prefix, options.end_suffix));
    } else if (const auto bytes = bytes_of_letters(spelling)) {
      set(*bytes, without(*bytes, options.inner_prefix, options.end_suffix));
    } else {
      vocabulary.set_bytes(id, spelling);
    }
  });
  set_added_bytes(entries, vocabulary);
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
  refuse_damage(model, fmt::format("merges entry {} is no pair", index));
}

void add_merges(const io::Config& model, bool byte_level, BpeModel& out) {
  const auto merges = model.json().find("merges");
  if (merges == model.json().end() || !merges->is_array()) {
    refuse_damage(model, "key merges is no array");
  }
  for (size_t i = 0; i < merges->size(); ++i) {
    auto [left, right] = read_merge(model, i, (*merges)[i]);
    const std::string shown = io::printable(left + " " + right);
    if (byte_level) {
      left = bytes_of_letters(left).value_or("");
      right = bytes_of_letters(right).value_or("");
    }
    if (!out.add_merge(left, right)) {
      refuse_damage(model, fmt::format("merges entry {} \"{}\" joins what is no token", i, shown));
    }
  }
}

JsonModel read_bpe(const io::Config& model, const JsonEntries& entries, bool byte_level) {
  if (model.number({"dropout"}, 0) != 0) refuse_construct(model, "dropout in the model");
  if (!entries.scores.empty()) refuse_damage(model, "key vocab is no object");
  const BpeModel::Options options{
      .units = byte_level ? BpeModel::Units::kBytes : BpeModel::Units::kCharacters,
      .whole_pieces = model.flag({"ignore_merges"}, false),
      .fuse_unknown = model.flag({"fuse_unk"}, false),
      .unknown = read_unknown(model, entries, ""),
      .end_suffix = model.text({"end_of_word_suffix"}, ""),
      .inner_prefix = model.text({"continuing_subword_prefix"}, "")};
  auto bpe = std::make_unique<BpeModel>(read_bpe_vocabulary(model, entries, options), options);
  add_merges(model, byte_level, *bpe);
  return {byte_level ? "BPE byte-level" : "BPE with SentencePiece text", std::move(bpe),
          !byte_level};
}

JsonModel read_wordpiece(const io::Config& model, const JsonEntries& entries) {
  if (!entries.scores.empty()) refuse_damage(model, "key vocab is no object");
  const std::string mark = model.text({"continuing_subword_prefix"}, "##");
  const int64_t longest = model.integer({"max_input_chars_per_word"}, 100);
  if (longest < 0) {
    refuse_damage(model, fmt::format("max_input_chars_per_word is {}", longest));
  }
  const auto unknown = read_unknown(model, entries, "[UNK]");
  if (!unknown) refuse_damage(model, "unk_token is empty, WordPiece needs it");
  Vocabulary vocabulary(entries.size);
  visit_plain(entries, [&](const std::string& spelling, int32_t id, size_t) {
    const bool continues = !mark.empty() && spelling.starts_with(mark);
    vocabulary.set_bytes(id, continues ? spelling.substr(mark.size()) : " " + spelling);
  });
  set_added_bytes(entries, vocabulary);
  auto out = std::make_unique<WordPieceModel>(
      std::move(vocabulary), WordPieceModel::Options{*unknown, static_cast<size_t>(longest)});
  visit_plain(entries, [&](const std::string& spelling, int32_t id, size_t) {
    out->add_start(spelling, id);
    if (spelling.starts_with(mark)) out->add_continuation(spelling.substr(mark.size()), id);
  });
  return {"WordPiece", std::move(out)};
}

std::optional<int32_t> read_unknown_id(const io::Config& model, const JsonEntries& entries) {
  if (!model.has("unk_id")) return std::nullopt;
  const int64_t id = model.integer({"unk_id"});
  const auto last = static_cast<int64_t>(entries.vocabulary.size()) - 1;
  if (id < 0 || id > last) {
    refuse_damage(model, fmt::format("unk_id {} is outside 0..{}", id, last));
  }
  return static_cast<int32_t>(id);
}

JsonModel read_unigram(const io::Config& model, const JsonEntries& entries) {
  if (entries.scores.empty()) refuse_damage(model, "key vocab is no list of scores");
  const bool fallback = model.flag({"byte_fallback"}, false);
  const UnigramModel::Options options{
      read_unknown_id(model, entries),
      *std::min_element(entries.scores.begin(), entries.scores.end())};
  Vocabulary vocabulary(entries.size);
  std::vector<size_t> pieces;
  visit_plain(entries, [&](const std::string& spelling, int32_t id, size_t place) {
    if (fallback && add_byte(vocabulary, spelling, id)) return;
    vocabulary.set_bytes(id, bytes_of_piece(spelling));
    if (id != options.unknown) pieces.push_back(place);
  });
  set_added_bytes(entries, vocabulary);
  auto out = std::make_unique<UnigramModel>(std::move(vocabulary), options);
  for (const size_t place : pieces) {
    const auto& [spelling, id] = entries.vocabulary[place];
    out->add(spelling, id, entries.scores[place]);
  }
  return {"Unigram", std::move(out)};
}

}  // namespace

JsonModel read_model(const io::Config& model, const JsonEntries& entries, bool byte_level) {
  // GPT-2's own file is older than the key "type".
  const std::string type = model.text({"type"}, model.has("merges") ? "BPE" : "without a type");
  if (type == "BPE") return read_bpe(model, entries, byte_level);
  if (type == "WordPiece" || type == "Unigram") {
    if (byte_level) refuse_construct(model, "model " + type + " behind ByteLevel");
    return type == "WordPiece" ? read_wordpiece(model, entries) : read_unigram(model, entries);
  }
  refuse_construct(model, "model " + type);
}

}  // namespace sinkscope::text
