// Parts of configurations that several families share.

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sinkscope/base/error.h"
#include "sinkscope/io/json_text.h"
#include "sinkscope/io/printable.h"
#include "sinkscope/model/family.h"
#include "sinkscope/model/sizes.h"

namespace sinkscope::model {
namespace {

using nlohmann::json;

/// Where inner_config leaves the outer values that it did not take.
constexpr char kOverruled[] = "overruled_by_sinkscope";

io::Config config_of(const json& document, const std::string& where) {
  return io::Config::parse(document.dump(), where);
}

[[noreturn]] void unsupported(const std::string& where, std::string_view key,
                              std::string_view value, const std::string& known) {
  throw Error(ErrorKind::kUnsupported, "read model configuration",
              fmt::format("{}: {} is \"{}\"", where, key, io::printable(value)), "known: " + known);
}

}  // namespace

int64_t check_size(int64_t value, const std::string& where, std::string_view key, int64_t least,
                   int64_t most) {
  if (value < least || value > most) {
    throw Error(ErrorKind::kBadFile, "read model sizes",
                fmt::format("{}: {} is {}, expected {}..{}", where, key, value, least, most));
  }
  return value;
}

void check_positive(double value, const std::string& where, std::string_view key) {
  if (value > 0 && std::isfinite(value)) return;
  throw Error(ErrorKind::kBadFile, "read model configuration",
              fmt::format("{}: {} is {}, expected a positive number", where, key, value));
}

std::string present_name(const io::Config& config, io::Config::Names names) {
  for (const std::string_view name : names) {
    if (config.has(name)) return std::string(name);
  }
  return std::string(*names.begin());
}

io::Config inner_config(const io::Config& config, std::string_view key) {
  const std::optional<io::Config> inner = config.child(key);
  if (!inner) return config;
  json merged = inner->json();
  json overruled = json::object();
  for (const auto& [name, outer] : config.json().items()) {
    // Not its siblings either: an inner configuration is entered once.
    if (outer.is_object() && name.ends_with("_config")) continue;
    json& own = merged[name];
    if (own.is_null()) {
      own = outer;
    } else if (own != outer && !outer.is_null() && name != "model_type" &&
               name != "architectures") {
      overruled[name] = outer;
    }
  }
  merged[kOverruled] = overruled;
  return config_of(merged, inner->where());
}

std::vector<std::string> overruled_notes(const io::Config& config) {
  std::vector<std::string> notes;
  const std::optional<io::Config> overruled = config.child(kOverruled);
  if (!overruled) return notes;
  for (const auto& [name, outer] : overruled->json().items()) {
    if (!config.has(name)) continue;
    notes.push_back(fmt::format("{}: {} is {}; the outer configuration's {} is not used",
                                config.where(), io::printable(name),
                                io::describe_json(config.json()[name]), io::describe_json(outer)));
  }
  return notes;
}

io::Config with_defaults(const io::Config& config, std::string_view defaults) {
  json filled = config.json();
  const json values = json::parse(defaults);
  for (const auto& [name, value] : values.items()) {
    if (!filled.contains(name)) filled[name] = value;
  }
  return config_of(filled, config.where());
}

Activation read_activation(const io::Config& config, io::Config::Names keys,
                           std::string_view fallback) {
  const std::string name = config.text(keys, fallback);
  if (name == "silu" || name == "swish") return Activation::kSilu;
  if (name == "gelu" || name == "gelu_python") return Activation::kGelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast" ||
      name == "gelu_accurate" || name == "gelu_python_tanh") {
    return Activation::kGeluTanh;
  }
  if (name == "quick_gelu") return Activation::kQuickGelu;
  if (name == "relu") return Activation::kRelu;
  if (name == "relu2") return Activation::kSquaredRelu;
  if (name == "tanh") return Activation::kTanh;
  unsupported(config.where(), present_name(config, keys), name,
              "silu, gelu, gelu_new, gelu_pytorch_tanh, quick_gelu, relu, relu2, tanh");
}

std::vector<std::string> read_layer_types(const io::Config& config, const ModelSpec& spec) {
  const std::vector<std::string> types = config.texts("layer_types");
  if (!types.empty() && types.size() != spec.blocks.size()) {
    throw Error(ErrorKind::kBadFile, "read model configuration",
                fmt::format("{}: layer_types has {} entries, the model {} layers", config.where(),
                            types.size(), spec.layers));
  }
  return types;
}

void read_windows(const io::Config& config, ModelSpec& spec, int64_t full_every) {
  const std::vector<std::string> types = read_layer_types(config, spec);
  for (const std::string& type : types) {
    if (type != "full_attention" && type != "sliding_attention") {
      unsupported(config.where(), "layer_types", type, "full_attention, sliding_attention");
    }
  }
  if (!config.flag({"use_sliding_window"}, true)) return;
  const int64_t window = check_size(config.integer({"sliding_window"}, 0), config.where(),
                                    "sliding_window", 0, INT32_MAX);
  for (size_t i = 0; i < spec.blocks.size(); ++i) {
    const bool full = types.empty()
                          ? full_every > 0 && (static_cast<int64_t>(i) + 1) % full_every == 0
                          : types[i] == "full_attention";
    spec.blocks[i].window = full ? 0 : window;
  }
}

void read_windows(const io::GgufFile& file, ModelSpec& spec, bool (*slides)(int64_t layer)) {
  const std::string prefix = file.text("general.architecture") + ".attention.";
  const std::string key = prefix + "sliding_window";
  const int64_t window =
      check_size(file.integer(key, 0), file.files().front().string(), key, 0, INT32_MAX);
  // Newer converters write which blocks slide: a flag for each, or every which one does not.
  const std::string pattern = prefix + "sliding_window_pattern";
  const io::GgufValue* value = file.find_value(pattern);
  std::vector<int64_t> flags;
  int64_t full_every = 0;
  if (value && std::holds_alternative<int64_t>(*value)) {
    full_every = check_size(file.integer(pattern), file.files().front().string(), pattern);
  } else if (value) {
    flags = file.integers(pattern);
    if (flags.size() < spec.blocks.size()) {
      throw Error(ErrorKind::kBadFile, "read model configuration",
                  fmt::format("{} has {} entries, the model {} layers", file.place(pattern),
                              flags.size(), spec.layers));
    }
  }
  for (size_t i = 0; i < spec.blocks.size(); ++i) {
    const auto layer = static_cast<int64_t>(i);
    bool sliding = slides(layer);
    if (full_every > 0) sliding = (layer + 1) % full_every != 0;
    if (!flags.empty()) sliding = flags[i] != 0;
    spec.blocks[i].window = sliding ? window : 0;
  }
}

double read_positive(const io::Config& config, std::string_view key, double fallback) {
  const double value = config.number({key}, fallback);
  check_positive(value, config.where(), key);
  return value;
}

double read_softcap(const io::Config& config, std::string_view key) {
  return config.has(key) ? read_positive(config, key, 0) : 0;
}

namespace {

Experts checked(Experts experts, const std::string& where, const std::string& count_key,
                const std::string& chosen_key, const std::string& width_key) {
  check_size(experts.count, where, count_key, 0, 1 << 16);
  if (experts.count == 0) return {};
  check_size(experts.chosen, where, chosen_key, 1, experts.count);
  check_size(experts.width, where, width_key);
  return experts;
}

}  // namespace

Experts read_experts(const io::Config& config, int64_t count) {
  const io::Config::Names counts = {"num_local_experts", "num_experts"},
                          chosen = {"num_experts_per_tok", "experts_per_token"},
                          width = {"moe_intermediate_size", "intermediate_size"};
  Experts experts;
  experts.count = config.integer(counts, count);
  experts.chosen = config.integer(chosen, 0);
  experts.width = config.integer(width, 0);
  return checked(experts, config.where(), present_name(config, counts),
                 present_name(config, chosen), present_name(config, width));
}

Experts read_experts(const io::GgufFile& file) {
  const std::string prefix = file.text("general.architecture") + ".";
  const std::string width = prefix + "expert_feed_forward_length";
  Experts experts;
  experts.count = file.integer(prefix + "expert_count", 0);
  experts.chosen = file.integer(prefix + "expert_used_count", 0);
  experts.width = file.integer(width, file.integer(prefix + "feed_forward_length", 0));
  return checked(experts, file.files().front().string(), prefix + "expert_count",
                 prefix + "expert_used_count", width);
}

void read_biases(const io::Config& config, ModelSpec& spec) {
  spec.attention_bias = spec.output_bias = config.flag({"attention_bias"}, false);
  spec.mlp_bias = config.flag({"mlp_bias"}, false);
}

void read_biases(const io::GgufFile& file, ModelSpec& spec) {
  spec.attention_bias = file.find("blk.0.attn_q.bias") != nullptr;
  spec.output_bias = file.find("blk.0.attn_output.bias") != nullptr;
  spec.mlp_bias = file.find("blk.0.ffn_down.bias") != nullptr;
}

void read_sparse_blocks(const io::Config& config, ModelSpec& spec) {
  const int64_t step =
      check_size(config.integer({"decoder_sparse_step"}, 1), config.where(), "decoder_sparse_step");
  for (size_t i = 0; i < spec.blocks.size(); ++i) {
    spec.blocks[i].experts = spec.experts.count > 0 && (static_cast<int64_t>(i) + 1) % step == 0;
  }
  for (const int64_t layer : config.integers("mlp_only_layers")) {
    if (layer >= 0 && layer < spec.layers) spec.blocks[static_cast<size_t>(layer)].experts = false;
  }
}

}  // namespace sinkscope::model
