// ViT and DeiT as timm publishes them: config.json names an architecture, which stands for the
// sizes, and model_args that depart from it. The arithmetic is vit's but for the norm epsilon and
// an antialiased resampling of the positions.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sinkscope/base/error.h"
#include "sinkscope/io/printable.h"
#include "sinkscope/model/families/encoder_config.h"
#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/vision_names.h"

namespace sinkscope::model {
namespace {

struct Size {
  std::string_view name;
  int64_t width, layers, heads, mlp_width;
};
constexpr Size kSizes[] = {
    {"tiny", 192, 12, 3, 768},        {"small", 384, 12, 6, 1536},  {"base", 768, 12, 12, 3072},
    {"large", 1024, 24, 16, 4096},    {"huge", 1280, 32, 16, 5120}, {"giant", 1408, 40, 16, 6144},
    {"gigantic", 1664, 48, 16, 8192},
};

[[noreturn]] void refuse(const io::Config& config, const std::string& seen) {
  throw Error(ErrorKind::kUnsupported, "read timm configuration",
              fmt::format("{}: {}", config.where(), seen),
              "supported: vit_SIZE_patchN_N, deit_SIZE_patchN_N, deit_SIZE_distilled_patchN_N with "
              "a size from tiny to gigantic");
}

struct Architecture {
  const Size* size = nullptr;
  int64_t patch = 0, image = 0;
  bool distilled = false;
};

/// The number behind `prefix` that makes up the rest of `text`; 0: it is something else.
int64_t number_after(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return 0;
  text.remove_prefix(prefix.size());
  if (text.empty() || text.size() > 4) return 0;
  int64_t number = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return 0;
    number = 10 * number + (digit - '0');
  }
  return number;
}

/// Only names without a further word: each such word changes the arithmetic.
Architecture read_architecture(const io::Config& config) {
  const std::string text = config.text({"architecture"});
  std::vector<std::string_view> words;
  // What follows the dot names the training, not the model.
  std::string_view rest = std::string_view(text).substr(0, text.find('.'));
  for (size_t end; (end = rest.find('_')) != std::string_view::npos; rest.remove_prefix(end + 1))
    words.push_back(rest.substr(0, end));
  words.push_back(rest);
  Architecture out;
  if (words.size() == 5 && words[0] == "deit" && words[2] == "distilled") {
    out.distilled = true;
    words.erase(words.begin() + 2);
  }
  if (words.size() == 4 && (words[0] == "vit" || words[0] == "deit")) {
    const auto size = std::find_if(std::begin(kSizes), std::end(kSizes),
                                   [&](const Size& known) { return known.name == words[1]; });
    out.size = size == std::end(kSizes) ? nullptr : size;
    out.patch = number_after(words[2], "patch");
    out.image = number_after(words[3], "");
  }
  if (!out.size || out.patch == 0 || out.image == 0)
    refuse(config, fmt::format("architecture is \"{}\"", io::printable(text)));
  return out;
}

/// model_args, of which every key that is not known would change the arithmetic unnoticed.
io::Config read_arguments(const io::Config& config) {
  constexpr std::string_view kKnown[] = {
      "img_size",  "patch_size",  "in_chans", "embed_dim",   "depth",           "num_heads",
      "mlp_ratio", "num_classes", "qkv_bias", "init_values", "dynamic_img_size"};
  const std::optional<io::Config> arguments = config.child("model_args");
  if (!arguments) return io::Config::parse("{}", config.where());
  for (const auto& [key, value] : arguments->json().items()) {
    if (std::find(std::begin(kKnown), std::end(kKnown), key) == std::end(kKnown)) {
      refuse(config, fmt::format("model_args has {}", io::printable(key)));
    }
  }
  return *arguments;
}

/// [channels, height, width]
std::vector<int64_t> read_input(const io::Config& config, const Architecture& architecture) {
  const std::optional<io::Config> pretrained = config.child("pretrained_cfg");
  std::vector<int64_t> size =
      pretrained ? pretrained->integers("input_size") : std::vector<int64_t>{};
  if (size.size() != 3) size = {3, architecture.image, architecture.image};
  return size;
}

/// The same facts under the hub's keys.
io::Config as_vit(const io::Config& config, const Architecture& architecture,
                  const io::Config& arguments) {
  const Size& size = *architecture.size;
  const std::vector<int64_t> input = read_input(config, architecture);
  nlohmann::json vit = {{"model_type", "timm_vit"}, {"layer_norm_eps", 1e-6}};
  vit["hidden_size"] = arguments.integer({"embed_dim"}, size.width);
  vit["num_hidden_layers"] = arguments.integer({"depth"}, size.layers);
  vit["num_attention_heads"] = arguments.integer({"num_heads"}, size.heads);
  vit["patch_size"] = arguments.integer({"patch_size"}, architecture.patch);
  vit["num_channels"] = arguments.integer({"in_chans"}, input[0]);
  vit["image_size"] = {input[1], input[2]};
  if (arguments.has("img_size")) vit["image_size"] = arguments.json().at("img_size");
  vit["qkv_bias"] = arguments.flag({"qkv_bias"}, true);
  vit["num_labels"] = arguments.integer({"num_classes"}, config.integer({"num_classes"}, 1000));
  return io::Config::parse(vit.dump(), config.where());
}

ModelSpec read_config(const io::Config& config) {
  require_text(config, "global_pool", "token");
  const Architecture architecture = read_architecture(config);
  const io::Config arguments = read_arguments(config);
  ModelSpec spec = read_vit_config(as_vit(config, architecture, arguments));
  const Size& size = *architecture.size;
  const double ratio = static_cast<double>(size.mlp_width) / static_cast<double>(size.width);
  spec.mlp_width = read_multiple(arguments, "mlp_ratio", ratio, spec.width);
  spec.layer_scale = arguments.number({"init_values"}, 0) > 0;
  spec.vision.antialias = true;
  spec.vision.distillation_token = architecture.distilled;
  if (architecture.distilled) spec.vision.prefix_positions = 2;
  return spec;
}

bool claims_config(const io::Config& config) { return config.has("architecture"); }

}  // namespace

const Family kTimmVit{.name = "timm_vit",
                      .read_config = read_config,
                      .weights = names::kTimm,
                      .claims_config = claims_config};

}  // namespace sinkscope::model
