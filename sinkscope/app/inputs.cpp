#include "sinkscope/app/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "sinkscope/app/choose.h"
#include "sinkscope/app/images.h"
#include "sinkscope/app/task_inputs.h"
#include "sinkscope/base/error.h"
#include "sinkscope/base/sha256.h"
#include "sinkscope/model/families/lab.h"

namespace sinkscope::app {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int64_t kMaxTextBytes = int64_t{1} << 32;

[[noreturn]] void refuse(const std::string& seen, const std::string& hint = {}) {
  throw Error(ErrorKind::kUsage, "read inputs", seen, hint);
}

std::string read_text(const std::string& flag, const std::string& file) {
  std::error_code problem;
  const auto size = fs::file_size(file, problem);
  std::ifstream in(file, std::ios::binary);
  if (problem || !in)
    refuse(fmt::format("{} {}: cannot be read", flag, file), "give the path of a text file");
  if (size > static_cast<uintmax_t>(kMaxTextBytes)) {
    throw Error(ErrorKind::kTooLarge, "read inputs",
                fmt::format("{} {}: {} bytes, limit {}", flag, file, size, kMaxTextBytes));
  }
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

int32_t checked_id(int64_t id, int64_t vocabulary, const std::string& where) {
  if (id < 0 || id >= vocabulary) {
    refuse(fmt::format("{}: id {} is outside the vocabulary 0..{}", where, id, vocabulary - 1));
  }
  return static_cast<int32_t>(id);
}

text::Ids ids_from_json(const json& list, int64_t vocabulary, const std::string& where) {
  text::Ids ids;
  for (const json& id : list) {
    if (!id.is_number_integer())
      refuse(fmt::format("{}: {} is not an id", where, id.dump().substr(0, 40)));
    ids.push_back(checked_id(id.get<int64_t>(), vocabulary, where));
  }
  if (ids.empty()) refuse(where + ": a list without ids");
  return ids;
}

/// A JSON file holding one list of ids or a list of such lists.
std::vector<text::Ids> read_lists(const std::string& file, int64_t limit,
                                  const std::string& where) {
  const json document =
      json::parse(read_text(where.substr(0, where.find(' ')), file), nullptr, false);
  if (!document.is_array()) refuse(where + ": not a JSON list of ids");
  if (document.empty()) refuse(where + ": a list without ids");
  std::vector<text::Ids> lists;
  if (!document.front().is_array()) return {ids_from_json(document, limit, where)};
  for (const json& list : document) {
    if (!list.is_array()) refuse(where + ": lists of ids and ids are mixed");
    lists.push_back(ids_from_json(list, limit, where));
  }
  return lists;
}

/// Inline "1,2,3" or a JSON file.
std::vector<text::Ids> read_tokens(const std::string& argument, int64_t vocabulary) {
  const std::string where = "--tokens " + argument;
  if (argument.empty())
    refuse("--tokens \"\": no ids", "give ids such as 1,15043,3186 or a JSON file");
  std::error_code not_a_name;  // a long list of ids is no possible file name
  if (fs::exists(argument, not_a_name)) {
    return read_lists(argument, vocabulary, where);
  }
  text::Ids ids;
  for (size_t at = 0; at <= argument.size();) {
    const size_t comma = std::min(argument.find(',', at), argument.size());
    const std::string word = argument.substr(at, comma - at);
    size_t used = 0;
    int64_t id = 0;
    try {
      id = std::stoll(word, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != word.size()) {
      refuse(fmt::format("{}: \"{}\" is neither an id nor part of a file's name that exists", where,
                         word));
    }
    ids.push_back(checked_id(id, vocabulary, where));
    at = comma + 1;
  }
  return {ids};
}

struct Chunk {
  std::string source;
  int64_t start;
  text::Ids ids;
};

/// Takes the ids away that the mask hides, so that what is left equals an unpadded run.
void cut_padding(const std::string& file, std::vector<Chunk>& chunks, Inputs& inputs) {
  const std::vector<text::Ids> masks = read_lists(file, 2, "--attention-mask " + file);
  if (masks.size() != chunks.size()) {
    refuse(fmt::format("--attention-mask {}: {} lists for {} lists of ids", file, masks.size(),
                       chunks.size()));
  }
  int64_t hidden = 0;
  for (size_t c = 0; c < chunks.size(); ++c) {
    const text::Ids padded = std::move(chunks[c].ids);
    if (masks[c].size() != padded.size()) {
      refuse(fmt::format("--attention-mask {}: list {} has {} entries for {} ids", file, c,
                         masks[c].size(), padded.size()));
    }
    chunks[c].ids.clear();
    for (size_t i = 0; i < padded.size(); ++i) {
      if (masks[c][i] != 0) chunks[c].ids.push_back(padded[i]);
    }
    if (chunks[c].ids.empty()) {
      refuse(fmt::format("--attention-mask {}: list {} hides every id", file, c));
    }
    hidden += static_cast<int64_t>(padded.size() - chunks[c].ids.size());
  }
  if (hidden > 0) {
    inputs.warnings.push_back(
        fmt::format("{} padding id(s) taken away; positions count without them", hidden));
  }
}

/// Where the documents of a packed sequence begin: its first token and every later BOS.
std::vector<int64_t> document_starts(const text::Ids& ids, int32_t bos) {
  std::vector<int64_t> starts = {0};
  for (size_t i = 1; i < ids.size(); ++i) {
    if (ids[i] == bos) starts.push_back(static_cast<int64_t>(i));
  }
  return starts;
}

class Collector {
 public:
  Collector(const InputOptions& options, const text::Tokenizer& tokenizer)
      : options_(options), tokenizer_(tokenizer), rule_(parse_bos(options.bos)) {
    bos_each_ =
        rule_ == text::BosRule::kAlways || (rule_ == text::BosRule::kAuto && tokenizer.adds_bos());
    if (rule_ != text::BosRule::kNever) closing_ = tokenizer.closing_ids();
    if (bos_each_ && !tokenizer.bos_id()) {
      refuse("--bos always: the tokenizer names no BOS id",
             "use --bos never, or give ids with --tokens");
    }
  }

  /// Cuts a file into sequences of seq_len tokens, each with its own BOS and closing tokens where
  /// the rule says so.
  void add_file(const std::string& file, Inputs& inputs) {
    const text::Ids ids = tokenizer_.encode(read_text("--file", file), false);
    const int64_t around = (bos_each_ ? 1 : 0) + std::ssize(closing_);
    const int64_t step = options_.seq_len - around;
    const auto length = static_cast<int64_t>(ids.size());
    longest_ = std::max(longest_, length + around);
    if (step < 1) {
      refuse(fmt::format("--seq-len {}: nothing but special tokens would fit", options_.seq_len));
    }
    const int64_t whole = length / step;
    if (whole == 0) inputs.skipped += 1;
    for (int64_t c = 0; c < whole; ++c) {
      Chunk chunk{file, c * step, {}};
      if (bos_each_) chunk.ids.push_back(*tokenizer_.bos_id());
      chunk.ids.insert(chunk.ids.end(), ids.begin() + c * step, ids.begin() + (c + 1) * step);
      chunk.ids.insert(chunk.ids.end(), closing_.begin(), closing_.end());
      chunks_.push_back(std::move(chunk));
    }
  }

  void add_prompt(const std::string& prompt, size_t number, Inputs& inputs) {
    text::Prompt made = text::make_prompt(tokenizer_, prompt, rule_);
    if (made.ids.empty()) {
      refuse(fmt::format("--prompt {}: no token at all", number),
             "give some text, or --bos always");
    }
    inputs.warnings.insert(inputs.warnings.end(), made.warnings.begin(), made.warnings.end());
    prompts_.push_back({fmt::format("prompt {}", number), 0, std::move(made.ids)});
  }

  std::vector<Chunk> finish(Inputs& inputs) {
    inputs.available = static_cast<int64_t>(chunks_.size() + prompts_.size());
    std::vector<Chunk> result;
    for (const int64_t c :
         choose(static_cast<int64_t>(chunks_.size()), options_.max_seqs, options_.seed)) {
      result.push_back(std::move(chunks_[static_cast<size_t>(c)]));
    }
    std::move(prompts_.begin(), prompts_.end(), std::back_inserter(result));
    if (result.empty()) {
      refuse(fmt::format(
                 "every input is shorter than --seq-len {}: {} skipped, the longest has {} tokens",
                 options_.seq_len, inputs.skipped, longest_),
             fmt::format("use --seq-len {} or longer text", std::max<int64_t>(longest_, 1)));
    }
    return result;
  }

 private:
  const InputOptions& options_;
  const text::Tokenizer& tokenizer_;
  text::BosRule rule_;
  bool bos_each_ = false;
  text::Ids closing_;
  int64_t longest_ = 0;
  std::vector<Chunk> chunks_, prompts_;
};

std::string hash_ids(const std::vector<store::SequenceInfo>& sequences) {
  std::vector<int32_t> all;
  for (const store::SequenceInfo& s : sequences) {
    all.push_back(static_cast<int32_t>(s.ids.size()));
    all.insert(all.end(), s.ids.begin(), s.ids.end());
  }
  return sha256_bytes(std::as_bytes(std::span(all)));
}

/// Parses "A-B" or "A" within 0..limit-1.
std::pair<int, int> parse_range(const std::string& word, int limit, const std::string& flag) {
  int first = -1, last = -1;
  const char* end = word.data() + word.size();
  auto read = std::from_chars(word.data(), end, first);
  if (read.ec == std::errc() && read.ptr == end) {
    last = first;
  } else if (read.ec == std::errc() && *read.ptr == '-') {
    read = std::from_chars(read.ptr + 1, end, last);
  }
  if (read.ec != std::errc() || read.ptr != end || first < 0 || last < first || last >= limit) {
    throw Error(
        ErrorKind::kUsage, "read flags",
        fmt::format("{}: \"{}\" is no number or range within 0..{}", flag, word, limit - 1));
  }
  return {first, last};
}

std::vector<std::string> split_commas(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    words.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return words;
}

}  // namespace

text::BosRule parse_bos(const std::string& word) {
  if (word == "auto") return text::BosRule::kAuto;
  if (word == "always") return text::BosRule::kAlways;
  if (word == "never") return text::BosRule::kNever;
  throw Error(ErrorKind::kUsage, "read flags", "--bos " + word, "auto, always or never");
}

std::unique_ptr<text::Tokenizer> open_tokenizer(const model::Model& model) {
  if (model.gguf()) {
    if (!model.gguf()->has("tokenizer.ggml.model")) return nullptr;
    return text::open_tokenizer(*model.gguf());
  }
  if (!fs::exists(model.path() / "tokenizer.json")) return nullptr;
  return text::open_tokenizer(model.path());
}

Inputs read_inputs(const InputOptions& options, const text::Tokenizer* tokenizer,
                   int64_t vocabulary) {
  if (options.seq_len < 1) refuse(fmt::format("--seq-len {}: at least 1", options.seq_len));
  if (options.max_seqs < 1) refuse(fmt::format("--max-seqs {}: at least 1", options.max_seqs));
  const bool has_text = !options.files.empty() || !options.prompts.empty();
  if (!options.images.empty() || !options.pixels.empty()) {
    refuse("--images or --pixels: this model reads text", "give --file, --prompt or --tokens");
  }
  if (!options.attention_mask.empty() && options.tokens.empty()) {
    refuse("--attention-mask without --tokens", "a mask belongs to lists of ids");
  }
  if (!has_text && options.tokens.empty()) {
    refuse("nothing to measure", "give --file TEXT, --prompt \"...\" or --tokens 1,2,3");
  }
  if (has_text && !options.tokens.empty())
    refuse("--tokens together with --file or --prompt", "give one kind of input");
  Inputs inputs;
  inputs.kind = has_text ? "text" : "tokens";
  std::vector<Chunk> chunks;
  if (has_text) {
    if (!tokenizer) refuse("the model's files bring no tokenizer", "give ids with --tokens");
    Collector collector(options, *tokenizer);
    for (const std::string& file : options.files) collector.add_file(file, inputs);
    for (size_t p = 0; p < options.prompts.size(); ++p)
      collector.add_prompt(options.prompts[p], p, inputs);
    chunks = collector.finish(inputs);
  } else {
    for (const std::string& argument : options.tokens) {
      for (text::Ids& ids : read_tokens(argument, vocabulary)) {
        chunks.push_back({fmt::format("tokens {}", chunks.size()), 0, std::move(ids)});
      }
    }
    if (!options.attention_mask.empty()) cut_padding(options.attention_mask, chunks, inputs);
  }
  for (Chunk& chunk : chunks) {
    inputs.sequences.push_back({static_cast<int64_t>(inputs.sequences.size()), chunk.source,
                                chunk.start, std::move(chunk.ids)});
  }
  if (inputs.skipped > 0) {
    inputs.warnings.push_back(fmt::format("{} input(s) shorter than {} tokens were skipped",
                                          inputs.skipped, options.seq_len));
  }
  inputs.available = std::max(inputs.available, static_cast<int64_t>(inputs.sequences.size()));
  inputs.sha256 = hash_ids(inputs.sequences);
  const std::optional<int32_t> bos = tokenizer ? tokenizer->bos_id() : std::nullopt;
  if (options.document_mask && !bos) {
    refuse("--document-mask: no tokenizer says which id is the BOS", "leave it out");
  }
  const bool packed = options.document_mask;
  inputs.stream = [packed, bos](const store::SequenceInfo& sequence) {
    forward::Stream stream{sequence.ids, {}, {}, {}};
    if (packed) stream.documents = document_starts(sequence.ids, *bos);
    return stream;
  };
  inputs.labels = [tokenizer](const store::SequenceInfo& sequence) {
    std::vector<std::string> labels;
    for (const int32_t id : sequence.ids) {
      labels.push_back(tokenizer ? text::token_label(*tokenizer, id) : std::to_string(id));
    }
    return labels;
  };
  return inputs;
}

Inputs read_model_inputs(const InputOptions& options, const model::Model& model,
                         const text::Tokenizer* tokenizer) {
  if (model.spec().is_vision()) return read_images(options, model);
  const bool of_task = model.spec().family == model::kLabType;
  if (of_task && names_nothing(options)) return read_task_inputs(options, model);
  if (model.spec().vectors) {
    refuse("text or ids for a model that reads rows of numbers",
           "leave them out: sequences of its own task are measured");
  }
  return read_inputs(options, tokenizer, model.spec().vocabulary);
}

std::set<int> parse_layers(const std::string& text, int layers) {
  std::set<int> chosen;
  if (text.empty()) {
    for (int l = 0; l < layers; ++l) chosen.insert(l);
    return chosen;
  }
  for (const std::string& word : split_commas(text)) {
    const auto [first, last] = parse_range(word, layers, "--layers");
    for (int l = first; l <= last; ++l) chosen.insert(l);
  }
  return chosen;
}

std::optional<std::set<std::pair<int, int>>> parse_heads(const std::string& text, int layers,
                                                         int heads) {
  if (text.empty()) return std::nullopt;
  std::set<std::pair<int, int>> chosen;
  for (const std::string& word : split_commas(text)) {
    const size_t h = word.find('H');
    if (!word.starts_with("L") || h == std::string::npos) {
      throw Error(ErrorKind::kUsage, "read flags",
                  "--heads: \"" + word + "\" is not of the form L5H3 or L5H0-3");
    }
    const auto [l0, l1] = parse_range(word.substr(1, h - 1), layers, "--heads");
    const auto [h0, h1] = parse_range(word.substr(h + 1), heads, "--heads");
    for (int l = l0; l <= l1; ++l) {
      for (int head = h0; head <= h1; ++head) chosen.insert({l, head});
    }
  }
  return chosen;
}

}  // namespace sinkscope::app
