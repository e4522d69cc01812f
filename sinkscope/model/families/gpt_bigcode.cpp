// StarCoder and SantaCoder's successor: gpt2's names with plain linear layers and either one
// key/value head for all queries or, per head, q, k and v side by side.

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
  spec.kv_heads = config.flag({"multi_query"}, true) ? 1 : spec.heads;
  spec.activation = read_activation(config, {"activation_function"}, "gelu_pytorch_tanh");
  if (!config.flag({"scale_attn_weights"}, true)) spec.score_scale = 1;
  if (spec.mlp_width == 0) spec.mlp_width = 4 * spec.width;
  spec.norm_epsilon = config.number({"layer_norm_epsilon"}, 1e-5);
  spec.tied_head = config.flag({"tie_word_embeddings"}, true);
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = complete(read_decoder_gguf(file));
  spec.activation = Activation::kGeluTanh;
  spec.norm_epsilon = file.number("starcoder.attention.layer_norm_epsilon");
  spec.tied_head = file.find("output.weight") == nullptr;
  return spec;
}

constexpr auto kWeights =
    names::gpt2({.qkv = Layout::kGroups, .qkv_bias = Layout::kGroups, .linear = Layout::kPlain});

}  // namespace

const Family kGptBigcode{
    "gpt_bigcode",          "starcoder", read_config, read_gguf, kWeights, "transformer.",
    "GPTBigCodeForCausalLM"};

}  // namespace sinkscope::model
