#include <fmt/format.h>

#include <cmath>
#include <set>

#include "sinkscope/base/error.h"
#include "sinkscope/model/family.h"

namespace sinkscope::model {
namespace {

// No model has more; a larger number is damage, and every later product stays far from overflow.
constexpr int64_t kMaxSize = 1 << 24;

int64_t checked_size(int64_t value, const std::string& where, std::string_view key,
                     int64_t least = 1) {
  if (value < least || value > kMaxSize) {
    throw Error(ErrorKind::kBadFile, "read model sizes",
                fmt::format("{}: {} is {}, expected {}..{}", where, key, value, least, kMaxSize));
  }
  return value;
}

/// The name under which the file has the value; the usual one when it has none.
std::string present_name(const io::Config& config, io::Config::Names names) {
  for (const std::string_view name : names) {
    if (config.has(name)) return std::string(name);
  }
  return std::string(*names.begin());
}

struct Keys {  // what each format calls the sizes, for the messages
  std::string where, width, heads, kv_heads, head_width;
};

void settle_heads(ModelSpec& spec, const Keys& keys) {
  if (spec.head_width == 0) {
    if (spec.width % spec.heads != 0) {
      throw Error(ErrorKind::kBadFile, "read model sizes",
                  fmt::format("{}: {} {} is not divisible by {} {}, and {} is absent", keys.where,
                              keys.width, spec.width, keys.heads, spec.heads, keys.head_width));
    }
    spec.head_width = spec.width / spec.heads;
  }
  if (spec.kv_heads > spec.heads || spec.heads % spec.kv_heads != 0) {
    throw Error(ErrorKind::kBadFile, "read model sizes",
                fmt::format("{}: {} {} does not divide {} {}", keys.where, keys.kv_heads,
                            spec.kv_heads, keys.heads, spec.heads));
  }
  spec.score_scale = 1 / std::sqrt(static_cast<double>(spec.head_width));
}

int64_t blocks_in(const io::GgufFile& file) {
  std::set<std::string_view> blocks;
  for (const io::TensorInfo& tensor : file.tensors()) {
    const std::string_view name = tensor.name;
    if (name.starts_with("blk.")) blocks.insert(name.substr(4, name.find('.', 4) - 4));
  }
  return static_cast<int64_t>(blocks.size());
}

}  // namespace

ModelSpec read_decoder_config(const io::Config& config) {
  const std::string& where = config.where();
  ModelSpec spec;
  spec.family = std::string(find_family(config).name);
  const auto size = [&](io::Config::Names names) {
    return checked_size(config.integer(names), where, present_name(config, names));
  };
  const auto optional_size = [&](io::Config::Names names) {
    return checked_size(config.integer(names, 0), where, present_name(config, names), 0);
  };
  const io::Config::Names width_names = {"hidden_size", "n_embd", "d_model"};
  const io::Config::Names head_names = {"num_attention_heads", "n_head"};
  spec.width = size(width_names);
  spec.layers = size({"num_hidden_layers", "n_layer"});
  spec.heads = size(head_names);
  spec.vocabulary = size({"vocab_size"});
  spec.kv_heads = checked_size(config.integer({"num_key_value_heads"}, spec.heads), where,
                               "num_key_value_heads");
  spec.head_width = optional_size({"head_dim"});
  spec.mlp_width = optional_size({"intermediate_size", "n_inner", "ffn_dim"});
  spec.context = optional_size({"max_position_embeddings", "n_positions", "n_ctx"});
  settle_heads(spec, {where, present_name(config, width_names), present_name(config, head_names),
                      "num_key_value_heads", "head_dim"});
  return spec;
}

ModelSpec read_decoder_gguf(const io::GgufFile& file) {
  ModelSpec spec;
  spec.family = file.text("general.architecture");
  const std::string prefix = spec.family + ".";
  const std::string where = file.files().front().string();
  const auto size = [&](const std::string& key) {
    return checked_size(file.integer(prefix + key), where, prefix + key);
  };
  const auto optional_size = [&](const std::string& key, int64_t fallback) {
    return checked_size(file.integer(prefix + key, fallback), where, prefix + key, 0);
  };
  spec.width = size("embedding_length");
  const int64_t present = blocks_in(file);
  spec.layers = file.integer(prefix + "block_count");
  // Anything above this cannot be one missing block; it is a damaged number.
  if (spec.layers < 1 || spec.layers > static_cast<int64_t>(file.tensors().size())) {
    throw Error(ErrorKind::kBadFile, "read model sizes",
                fmt::format("{}: {}block_count is {}, the file has {} blocks", where, prefix,
                            spec.layers, present));
  }
  if (present > spec.layers) {
    spec.notes.push_back(
        fmt::format("{}block_count is {}, the file has {} blocks: blk.{} and up are not used",
                    prefix, spec.layers, present, spec.layers));
  }
  spec.heads = size("attention.head_count");
  spec.kv_heads = optional_size("attention.head_count_kv", spec.heads);
  if (spec.kv_heads == 0) checked_size(0, where, prefix + "attention.head_count_kv");
  spec.head_width = optional_size("attention.key_length", 0);
  spec.mlp_width = size("feed_forward_length");
  spec.context = optional_size("context_length", 0);
  if (const io::TensorInfo* embed = file.find("token_embd.weight");
      embed && embed->shape.size() == 2) {
    spec.vocabulary = embed->shape[0];
  } else if (file.has(prefix + "vocab_size")) {
    spec.vocabulary = size("vocab_size");
  }
  settle_heads(spec, {where, prefix + "embedding_length", prefix + "attention.head_count",
                      prefix + "attention.head_count_kv", prefix + "attention.key_length"});
  const int64_t value_width = optional_size("attention.value_length", spec.head_width);
  if (value_width != spec.head_width) {
    throw Error(ErrorKind::kUnsupported, "read model sizes",
                fmt::format("{}: {}attention.value_length {} differs from the key width {}", where,
                            prefix, value_width, spec.head_width));
  }
  return spec;
}

}  // namespace sinkscope::model
