#include "sinkscope/text/json_surroundings.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sinkscope/io/printable.h"
#include "sinkscope/text/json_reading.h"

namespace sinkscope::text {
namespace {

int32_t checked_id(const io::Config& at, int64_t id, const JsonEntries& entries) {
  if (id < 0 || id >= entries.size) {
    refuse_damage(at, fmt::format("id {} is outside 0..{}", id, entries.size - 1));
  }
  return static_cast<int32_t>(id);
}

/// The ids of a special token: from the table beside the template or, without one, its own id.
Ids ids_of(const io::Config& processor, const std::string& token, const JsonEntries& entries) {
  const auto table = processor.child("special_tokens");
  if (const auto entry = table ? table->child(token) : std::nullopt) {
    Ids ids;
    for (const int64_t id : entry->integers("ids")) ids.push_back(checked_id(*entry, id, entries));
    return ids;
  }
  const auto id = entries.find(token);
  if (!id) {
    refuse_damage(processor,
                  fmt::format("template token \"{}\" is no token", io::printable(token)));
  }
  return {*id};
}

Surroundings read_template(const io::Config& processor, const JsonEntries& entries) {
  Surroundings out;
  int sequences = 0;
  for (const io::Config& item : objects(processor, "single")) {
    if (const auto token = item.child("SpecialToken")) {
      Ids& side = sequences == 0 ? out.front : out.back;
      for (const int32_t id : ids_of(processor, token->text({"id"}), entries)) side.push_back(id);
    } else if (item.has("Sequence")) {
      ++sequences;
    } else {
      refuse_construct(item, "template item that is neither SpecialToken nor Sequence");
    }
  }
  if (sequences != 1) {
    refuse_construct(processor, fmt::format("template with {} texts", sequences));
  }
  return out;
}

/// ["[SEP]", 102]
Ids read_pair(const io::Config& processor, const char* key, const JsonEntries& entries) {
  const auto pair = processor.json().find(key);
  if (pair == processor.json().end() || !pair->is_array() || pair->size() != 2 ||
      !(*pair)[1].is_number_integer()) {
    refuse_damage(processor, fmt::format("key {} is no token with an id", key));
  }
  return {checked_id(processor, (*pair)[1].get<int64_t>(), entries)};
}

}  // namespace

Surroundings read_surroundings(const io::Config& processor, const JsonEntries& entries) {
  const std::string type = processor.text({"type"});
  if (type == "ByteLevel") return {};
  if (type == "TemplateProcessing") return read_template(processor, entries);
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    return {read_pair(processor, "cls", entries), read_pair(processor, "sep", entries)};
  }
  if (type != "Sequence") refuse_construct(processor, "post_processor " + type);
  Surroundings out;  // each step wraps what the one before made
  for (const io::Config& step : objects(processor, "processors")) {
    const Surroundings around = read_surroundings(step, entries);
    out.front.insert(out.front.begin(), around.front.begin(), around.front.end());
    out.back.insert(out.back.end(), around.back.begin(), around.back.end());
  }
  return out;
}

}  // namespace sinkscope::text
