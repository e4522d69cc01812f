#include "sinkscope/model/families/encoder_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sinkscope/base/error.h"
#include "sinkscope/io/printable.h"
#include "sinkscope/model/family.h"
#include "sinkscope/model/sizes.h"

namespace sinkscope::model {
namespace {

constexpr char kOperation[] = "read model configuration";

/// SwiGLU keeps two thirds of the MLP's width, rounded up to a multiple of 8.
int64_t swiglu_width(int64_t width) { return (2 * width / 3 + 7) / 8 * 8; }

}  // namespace

io::Config with_names(const io::Config& config, std::initializer_list<KeyName> names) {
  nlohmann::json all = config.json();
  for (const KeyName& name : names) {
    if (config.has(name.theirs) && !config.has(name.ours)) {
      all[std::string(name.ours)] = all[std::string(name.theirs)];
    }
  }
  return io::Config::parse(all.dump(), config.where());
}

void require_text(const io::Config& config, std::string_view key, std::string_view supported) {
  const std::string text = config.text({key}, supported);
  if (text == supported) return;
  throw Error(ErrorKind::kUnsupported, kOperation,
              fmt::format("{}: {} is \"{}\"", config.where(), key, io::printable(text)),
              fmt::format("supported: {}", supported));
}

void require_flag(const io::Config& config, std::string_view key, bool supported) {
  if (config.flag({key}, supported) == supported) return;
  throw Error(ErrorKind::kUnsupported, kOperation,
              fmt::format("{}: {} is {}", config.where(), key, !supported));
}

int64_t read_count(const io::Config& config, std::string_view key, int64_t fallback) {
  return check_size(config.integer({key}, fallback), config.where(), key, 0);
}

int64_t read_multiple(const io::Config& config, std::string_view key, double fallback,
                      int64_t width) {
  const double product = static_cast<double>(width) * read_positive(config, key, fallback);
  const double most = static_cast<double>(kMaxSize) + 1;  // no larger number fits an integer surely
  return check_size(static_cast<int64_t>(std::min(product, most)), config.where(),
                    fmt::format("width {} times {}", width, key));
}

int64_t read_classes(const io::Config& config) {
  if (const auto labels = config.child("id2label")) {
    return static_cast<int64_t>(labels->json().size());
  }
  return read_count(config, "num_labels", 2);
}

bool has_class(const io::Config& config, std::string_view ending) {
  const std::vector<std::string> classes = config.texts("architectures");
  return std::any_of(classes.begin(), classes.end(),
                     [ending](const std::string& name) { return name.ends_with(ending); });
}

ModelSpec read_bert_config(const io::Config& given) {
  const io::Config config =
      with_defaults(given, R"({"intermediate_size": 3072, "max_position_embeddings": 512})");
  require_text(config, "position_embedding_type", "absolute");
  require_flag(config, "add_cross_attention", false);
  ModelSpec spec = read_decoder_config(config);
  spec.causal = config.flag({"is_decoder"}, false);
  spec.form = BlockForm::kPostNorm;
  spec.norm = Norm::kLayer;
  spec.norm_epsilon = config.number({"layer_norm_eps"}, 1e-12);
  spec.final_norm = false;
  spec.positions = Positions::kLearned;
  spec.embed_norm = true;
  spec.token_types = read_count(config, "type_vocab_size", 2);
  spec.attention_bias = spec.output_bias = spec.mlp_bias = true;
  spec.gated_mlp = false;
  spec.activation = read_activation(config, {"hidden_act"}, "gelu");
  spec.tied_head = config.flag({"tie_word_embeddings"}, true);
  spec.head_bias = true;
  spec.pooler = Pooler::kTanhFirst;
  spec.readout = Readout::kMaskedTokens;
  if (has_class(config, "ForSequenceClassification")) {
    spec.readout = Readout::kClasses;
    spec.classes = read_classes(config);
  }
  return spec;
}

ModelSpec read_vit_config(const io::Config& config) {
  ModelSpec spec = read_vision_config(config);
  if (spec.mlp_width == 0) spec.mlp_width = 3072;  // the reference's, whatever the width
  spec.vision.class_token = true;
  spec.vision.prefix_positions = 1;
  spec.pooler = Pooler::kFirst;
  spec.readout = Readout::kClasses;
  spec.classes = read_classes(config);
  return spec;
}

ModelSpec read_dinov2_config(const io::Config& config) {
  ModelSpec spec = read_vit_config(config);
  spec.norm_epsilon = config.number({"layer_norm_eps"}, 1e-6);
  spec.layer_scale = true;
  spec.mlp_width = read_multiple(config, "mlp_ratio", 4, spec.width);
  spec.gated_mlp = config.flag({"use_swiglu_ffn"}, false);
  if (spec.gated_mlp) {
    spec.mlp_width = swiglu_width(spec.mlp_width);
    spec.activation = Activation::kSilu;  // whatever hidden_act says
  }
  spec.readout = Readout::kClassesFirstMean;
  return spec;
}

}  // namespace sinkscope::model
