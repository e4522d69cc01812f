#include "sinkscope/text/json_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sinkscope/io/printable.h"
#include "sinkscope/text/json_reading.h"

namespace sinkscope::text {
namespace {

using nlohmann::json;

// Ids may have holes, but an id far above the number of entries is damage, not a hole.
constexpr int64_t kMaxHoles = 1'000'000;

int32_t checked_id(const io::Config& at, std::string_view token, int64_t id, int64_t limit) {
  if (id < 0 || id >= limit) {
    refuse_damage(at, fmt::format("token \"{}\" has id {}, outside 0..{}", io::printable(token), id,
                                  limit - 1));
  }
  return static_cast<int32_t>(id);
}

const json& vocabulary_of(const io::Config& model) {
  const auto vocab = model.json().find("vocab");
  if (vocab == model.json().end() || !vocab->is_structured() || vocab->empty()) {
    refuse_damage(model, "key vocab holds no tokens");
  }
  return *vocab;
}

/// {"token": id, ..}
void read_ids(const io::Config& model, const json& vocab, int64_t limit, JsonEntries& out) {
  for (const auto& [spelling, id] : vocab.items()) {
    if (!id.is_number_integer()) {
      refuse_damage(model, fmt::format("vocab \"{}\" is no integer", io::printable(spelling)));
    }
    out.vocabulary.emplace_back(spelling, checked_id(model, spelling, id.get<int64_t>(), limit));
  }
}

/// [["token", score], ..], Unigram: the place is the id.
void read_scores(const io::Config& model, const json& vocab, JsonEntries& out) {
  for (size_t i = 0; i < vocab.size(); ++i) {
    const json& entry = vocab[i];
    const bool is_pair =
        entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_number();
    const double score = is_pair ? entry[1].get<double>() : 0;
    if (!is_pair || !std::isfinite(score)) {
      refuse_damage(model, fmt::format("vocab entry {} is no token with a score", i));
    }
    out.vocabulary.emplace_back(entry[0].get<std::string>(), static_cast<int32_t>(i));
    out.scores.push_back(score);
  }
}

AddedToken read_added(const io::Config& at, int64_t limit) {
  AddedToken token;
  token.content = at.text({"content"});
  token.id = checked_id(at, token.content, at.integer({"id"}), limit);
  token.special = at.flag({"special"}, false);
  token.normalized = at.flag({"normalized"}, !token.special);
  token.strips_left = at.flag({"lstrip"}, false);
  token.strips_right = at.flag({"rstrip"}, false);
  token.single_word = at.flag({"single_word"}, false);
  return token;
}

}  // namespace

std::optional<int32_t> JsonEntries::find(std::string_view text) const {
  for (const AddedToken& token : added) {
    if (token.content == text) return token.id;
  }
  for (const auto& [spelling, id] : vocabulary) {
    if (spelling == text) return id;
  }
  return std::nullopt;
}

JsonEntries read_entries(const io::Config& tokenizer, const io::Config& model) {
  JsonEntries entries;
  const json& vocab = vocabulary_of(model);
  const std::vector<io::Config> added = objects(tokenizer, "added_tokens");
  const int64_t limit = static_cast<int64_t>(vocab.size() + added.size()) + kMaxHoles;
  if (vocab.is_array()) {
    read_scores(model, vocab, entries);
  } else {
    read_ids(model, vocab, limit, entries);
  }
  for (const io::Config& token : added) entries.added.push_back(read_added(token, limit));
  for (const auto& [spelling, id] : entries.vocabulary) {
    entries.size = std::max<int64_t>(entries.size, id + 1);
  }
  for (const AddedToken& token : entries.added) {
    entries.size = std::max<int64_t>(entries.size, token.id + 1);
  }
  return entries;
}

}  // namespace sinkscope::text
