// GPT-2: layer norms with bias, learned positions, one fused [q | k | v] projection stored
// [in, out] in safetensors, GELU MLP without gate, tied head.

#include "sinkscope/base/error.h"
#include "sinkscope/model/families/families.h"

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
  const std::string activation = config.text({"activation_function"}, "gelu_new");
  if (activation == "gelu_new" || activation == "gelu_pytorch_tanh") {
    spec.activation = Activation::kGeluTanh;
  } else if (activation == "gelu") {
    spec.activation = Activation::kGelu;
  } else if (activation == "relu") {
    spec.activation = Activation::kRelu;
  } else {
    throw Error(ErrorKind::kUnsupported, "read gpt2 configuration",
                config.where() + ": activation_function is \"" + activation + "\"",
                "known: gelu_new, gelu_pytorch_tanh, gelu, relu");
  }
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

// clang-format off
constexpr WeightName kWeights[] = {
    {"embed", "wte.weight", "token_embd.weight", Dim::kVocabulary, Dim::kWidth},
    {"positions", "wpe.weight", "position_embd.weight", Dim::kContext, Dim::kWidth},
    {"blocks.{}.norm1", "h.{}.ln_1.weight", "blk.{}.attn_norm.weight", Dim::kWidth},
    {"blocks.{}.norm1.bias", "h.{}.ln_1.bias", "blk.{}.attn_norm.bias", Dim::kWidth},
    {"blocks.{}.qkv", "h.{}.attn.c_attn.weight", "blk.{}.attn_qkv.weight", Dim::kQkv, Dim::kWidth, When::kAlways, Layout::kTransposed},
    {"blocks.{}.qkv.bias", "h.{}.attn.c_attn.bias", "blk.{}.attn_qkv.bias", Dim::kQkv},
    {"blocks.{}.o", "h.{}.attn.c_proj.weight", "blk.{}.attn_output.weight", Dim::kWidth, Dim::kQueries, When::kAlways, Layout::kTransposed},
    {"blocks.{}.o.bias", "h.{}.attn.c_proj.bias", "blk.{}.attn_output.bias", Dim::kWidth},
    {"blocks.{}.norm2", "h.{}.ln_2.weight", "blk.{}.ffn_norm.weight", Dim::kWidth},
    {"blocks.{}.norm2.bias", "h.{}.ln_2.bias", "blk.{}.ffn_norm.bias", Dim::kWidth},
    {"blocks.{}.up", "h.{}.mlp.c_fc.weight", "blk.{}.ffn_up.weight", Dim::kMlp, Dim::kWidth, When::kAlways, Layout::kTransposed},
    {"blocks.{}.up.bias", "h.{}.mlp.c_fc.bias", "blk.{}.ffn_up.bias", Dim::kMlp},
    {"blocks.{}.down", "h.{}.mlp.c_proj.weight", "blk.{}.ffn_down.weight", Dim::kWidth, Dim::kMlp, When::kAlways, Layout::kTransposed},
    {"blocks.{}.down.bias", "h.{}.mlp.c_proj.bias", "blk.{}.ffn_down.bias", Dim::kWidth},
    {"final_norm", "ln_f.weight", "output_norm.weight", Dim::kWidth},
    {"final_norm.bias", "ln_f.bias", "output_norm.bias", Dim::kWidth},
    {"head", "lm_head.weight", "output.weight", Dim::kVocabulary, Dim::kWidth, When::kUntied},
};
// clang-format on

}  // namespace

const Family kGpt2{"gpt2",   "gpt2",         read_config,      read_gguf,
                   kWeights, "transformer.", "GPT2LMHeadModel"};

}  // namespace sinkscope::model
