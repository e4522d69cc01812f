#include "sinkscope/text/json_tokenizer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "sinkscope/base/error.h"
#include "sinkscope/io/config_json.h"
#include "sinkscope/io/printable.h"
#include "sinkscope/text/json_entries.h"
#include "sinkscope/text/json_model.h"
#include "sinkscope/text/json_reading.h"
#include "sinkscope/text/json_steps.h"
#include "sinkscope/text/json_surroundings.h"
#include "sinkscope/text/pipeline.h"

namespace sinkscope::text {
namespace {

/// bos_token or eos_token of tokenizer_config.json: text, or an object with `content`.
std::optional<int32_t> configured_id(const io::Config& config, std::string_view key,
                                     const JsonEntries& entries) {
  const auto found = config.json().find(key);
  if (found == config.json().end() || found->is_null()) return std::nullopt;
  const std::string content =
      found->is_object() ? config.child(key)->text({"content"}) : config.text({key});
  const auto id = entries.find(content);
  if (!id) {
    refuse_damage(config,
                  fmt::format("{} \"{}\" is not in tokenizer.json", key, io::printable(content)));
  }
  return id;
}

// The keys of tokenizer_config.json replace what the post-processor says, as in transformers.
void follow_config(const io::Config& config, const JsonEntries& entries, Pipeline::Parts& parts) {
  const auto bos = configured_id(config, "bos_token", entries);
  parts.eos = configured_id(config, "eos_token", entries);
  if (!parts.bos || (bos && config.has("add_bos_token"))) parts.bos = bos;
  parts.adds_bos = config.flag({"add_bos_token"}, parts.adds_bos);
  if (!config.has("add_eos_token")) return;
  parts.closing.clear();
  if (config.flag({"add_eos_token"}) && parts.eos) parts.closing.push_back(*parts.eos);
}

void read_around(const io::Config& tokenizer, const std::optional<io::Config>& config,
                 const JsonEntries& entries, Pipeline::Parts& parts) {
  if (const auto processor = tokenizer.child("post_processor")) {
    Surroundings around = read_surroundings(*processor, entries);
    if (around.front.size() > 1) {
      refuse_construct(*processor,
                       fmt::format("{} tokens in front of the text", around.front.size()));
    }
    parts.adds_bos = !around.front.empty();
    if (parts.adds_bos) parts.bos = around.front.front();
    parts.closing = std::move(around.back);
  }
  if (config) follow_config(*config, entries, parts);
}

void add_tokens(const JsonEntries& entries, Pipeline::Parts& parts) {
  for (const AddedToken& token : entries.added) {
    const SpecialTokens::Token entry{token.id, token.strips_left, token.strips_right,
                                     token.single_word};
    Pipeline::AddedTokens& place = token.normalized ? parts.as_normalized : parts.as_written;
    const std::string content =
        token.normalized ? rewritten(parts.normalizer, token.content, true) : token.content;
    place.special.add(content, entry);
    if (!token.special) place.user_defined.add(content, entry);
  }
}

}  // namespace

std::unique_ptr<Tokenizer> read_tokenizer(const io::Config& tokenizer,
                                          const std::optional<io::Config>& config) {
  const auto model = tokenizer.child("model");
  if (!model) refuse_damage(tokenizer, "key model is missing");
  PreTokenizerSteps steps = read_pre_tokenizer(tokenizer);
  const JsonEntries entries = read_entries(tokenizer, *model);
  JsonModel read = read_model(*model, entries, steps.byte_level);
  Pipeline::Parts parts;
  parts.kind = std::move(read.kind);
  parts.model = std::move(read.model);
  parts.adds_bos = read.adds_bos;
  parts.normalizer = read_normalizer(tokenizer);
  parts.pre_tokenizer = std::move(steps.pre_tokenizer);
  add_tokens(entries, parts);
  read_around(tokenizer, config, entries, parts);
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
