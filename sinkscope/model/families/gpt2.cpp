// GPT-2: layer norms with bias, learned positions, one fused [q | k | v] projection stored
// [in, out] in safetensors, GELU MLP without gate, tied head.

#include "sinkscope/base/error.h"
#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/gpt2_names.h"

namespace sinkscope::model {
namespace {

ModelSpec complete(ModelSpec spec) {
  spec.norm = Norm::kLayer;
  spec.positions = Positions::kLearned;
  spec.gated_mlp = false;
  spec.attention_bias = spec.output_bias = spec.mlp_bias = true;  // no config key says so
  return spec;
}

ModelSpec read_config(const io::Config& config) {
  ModelSpec spec = complete(read_decoder_config(config));
  spec.activation = read_activation(config, {"activation_function"}, "gelu_new");
  if (config.flag({"scale_attn_by_inverse_layer_idx"}, false)) {
    throw Error(ErrorKind::kUnsupported, "read gpt2 configuration",
                config.where() + ": scale_attn_by_inverse_layer_idx is true", "");
  }
  if (!config.flag({"scale_attn_weights"}, true)) spec.score_scale = 1;
  if (spec.mlp_width == 0) spec.mlp_width = 4 * spec.width;
  spec.norm_epsilon = config.number({"layer_norm_epsilon"}, 1e-5);
  spec.tied_head = config.flag({"tie_word_embeddings"}, true);
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = complete(read_decoder_gguf(file));
  spec.activation = Activation::kGeluTanh;
  spec.norm_epsilon = file.number("gpt2.attention.layer_norm_epsilon");
  spec.tied_head = file.find("output.weight") == nullptr;
  return spec;
}

constexpr auto kWeights = names::gpt2(
    {.qkv = Layout::kTransposed, .qkv_bias = Layout::kPlain, .linear = Layout::kTransposed});

}  // namespace

const Family kGpt2{"gpt2",   "gpt2",         read_config,      read_gguf,
                   kWeights, "transformer.", "GPT2LMHeadModel"};

}  // namespace sinkscope::model
