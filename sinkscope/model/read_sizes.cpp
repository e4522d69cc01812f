#include <fmt/format.h>

#include <cmath>
#include <set>

#include "sinkscope/base/error.h"
#include "sinkscope/model/family.h"
#include "sinkscope/model/sizes.h"

namespace sinkscope::model {
namespace {

constexpr int64_t kMaxLayers = 1 << 16;
constexpr int64_t kMaxHeadWidth = 1 << 16;

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
  check_size(spec.head_width, keys.where, keys.head_width, 1, kMaxHeadWidth);
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

int64_t read_size(const io::Config& config, io::Config::Names keys, int64_t fallback) {
  return check_size(config.integer(keys, fallback), config.where(), present_name(config, keys));
}

ModelSpec read_decoder_config(const io::Config& config) {
  const std::string& where = config.where();
  ModelSpec spec;
  spec.family = std::string(find_family(config).name);
  const auto size = [&](io::Config::Names names) {
    return check_size(config.integer(names), where, present_name(config, names));
  };
  const auto optional_size = [&](io::Config::Names names) {
    return check_size(config.integer(names, 0), where, present_name(config, names), 0);
  };
  const io::Config::Names width_names = {"hidden_size", "n_embd", "n_embed", "d_model", "dim"};
  const io::Config::Names head_names = {"num_attention_heads", "n_head", "n_heads"};
  const io::Config::Names layer_names = {"num_hidden_layers", "n_layer", "n_layers"};
  spec.width = size(width_names);
  spec.layers = check_size(config.integer(layer_names), where, present_name(config, layer_names), 1,
                           kMaxLayers);
  spec.heads = size(head_names);
  spec.vocabulary = size({"vocab_size"});
  spec.kv_heads =
      check_size(config.integer({"num_key_value_heads"}, spec.heads), where, "num_key_value_heads");
  spec.head_width = optional_size({"head_dim"});
  spec.mlp_width = optional_size({"intermediate_size", "n_inner", "ffn_dim", "hidden_dim"});
  spec.context = optional_size({"max_position_embeddings", "n_positions", "n_ctx"});
  spec.blocks.resize(static_cast<size_t>(spec.layers));
  settle_heads(spec, {where, present_name(config, width_names), present_name(config, head_names),
                      "num_key_value_heads", "head_dim"});
  spec.notes = overruled_notes(config);
  return spec;
}

ModelSpec read_decoder_gguf(const io::GgufFile& file) {
  ModelSpec spec;
  spec.family = std::string(find_family(file).name);
  const std::string prefix = file.text("general.architecture") + ".";
  const std::string where = file.files().front().string();
  const auto size = [&](const std::string& key) {
    return check_size(file.integer(prefix + key), where, prefix + key);
  };
  const auto optional_size = [&](const std::string& key, int64_t fallback) {
    return check_size(file.integer(prefix + key, fallback), where, prefix + key, 0);
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
  spec.blocks.resize(static_cast<size_t>(spec.layers));
  if (present > spec.layers) {
    spec.notes.push_back(
        fmt::format("{}block_count is {}, the file has {} blocks: blk.{} and up are not used",
                    prefix, spec.layers, present, spec.layers));
  }
  spec.heads = size("attention.head_count");
  spec.kv_heads = optional_size("attention.head_count_kv", spec.heads);
  if (spec.kv_heads == 0) check_size(0, where, prefix + "attention.head_count_kv");
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

ModelSpec read_llama_config(const io::Config& config) {
  ModelSpec spec = read_decoder_config(config);
  spec.norm_epsilon = config.number({"rms_norm_eps"}, 1e-6);
  spec.activation = read_activation(config, {"hidden_act"}, "silu");
  spec.tied_head = config.flag({"tie_word_embeddings"}, false);
  spec.ropes = {read_rope(config, spec.head_width)};
  return spec;
}

ModelSpec read_llama_gguf(const io::GgufFile& file) {
  ModelSpec spec = read_decoder_gguf(file);
  spec.norm_epsilon =
      file.number(file.text("general.architecture") + ".attention.layer_norm_rms_epsilon");
  spec.tied_head = file.find("output.weight") == nullptr;
  spec.ropes = {read_rope(file, spec.head_width)};
  return spec;
}

}  // namespace sinkscope::model
