// Llama 1 to 3.x, SmolLM, TinyLlama: RMS norm before each branch, rotary positions over the whole
// head, grouped keys and values, gated SiLU MLP.

#include "sinkscope/base/error.h"
#include "sinkscope/model/families/families.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& config) {
  ModelSpec spec = read_decoder_config(config);
  const std::string activation = config.text({"hidden_act"}, "silu");
  if (activation != "silu") {
    throw Error(ErrorKind::kUnsupported, "read llama configuration",
                config.where() + ": hidden_act is \"" + activation + "\"", "llama models use silu");
  }
  spec.norm = Norm::kRms;
  spec.norm_epsilon = config.number({"rms_norm_eps"}, 1e-6);
  spec.rope = read_rope(config, spec.head_width);
  spec.attention_bias = config.flag({"attention_bias"}, false);
  spec.output_bias = spec.attention_bias;
  spec.mlp_bias = config.flag({"mlp_bias"}, false);
  spec.tied_head = config.flag({"tie_word_embeddings"}, false);
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = read_decoder_gguf(file);
  spec.norm = Norm::kRms;
  spec.norm_epsilon = file.number("llama.attention.layer_norm_rms_epsilon");
  spec.rope = read_rope(file, spec.head_width);
  // GGUF has no flag for these: a part is on when its tensor is there.
  spec.attention_bias = file.find("blk.0.attn_q.bias") != nullptr;
  spec.output_bias = file.find("blk.0.attn_output.bias") != nullptr;
  spec.mlp_bias = file.find("blk.0.ffn_down.bias") != nullptr;
  spec.tied_head = file.find("output.weight") == nullptr;
  return spec;
}

// clang-format off
constexpr WeightName kWeights[] = {
    {"embed", "model.embed_tokens.weight", "token_embd.weight", Dim::kVocabulary, Dim::kWidth},
    {"blocks.{}.norm1", "model.layers.{}.input_layernorm.weight", "blk.{}.attn_norm.weight", Dim::kWidth},
    {"blocks.{}.q", "model.layers.{}.self_attn.q_proj.weight", "blk.{}.attn_q.weight", Dim::kQueries, Dim::kWidth, When::kAlways, Layout::kRotaryRows},
    {"blocks.{}.q.bias", "model.layers.{}.self_attn.q_proj.bias", "blk.{}.attn_q.bias", Dim::kQueries, Dim::kNone, When::kAttentionBias, Layout::kRotaryRows},
    {"blocks.{}.k", "model.layers.{}.self_attn.k_proj.weight", "blk.{}.attn_k.weight", Dim::kKeys, Dim::kWidth, When::kAlways, Layout::kRotaryRows},
    {"blocks.{}.k.bias", "model.layers.{}.self_attn.k_proj.bias", "blk.{}.attn_k.bias", Dim::kKeys, Dim::kNone, When::kAttentionBias, Layout::kRotaryRows},
    {"blocks.{}.v", "model.layers.{}.self_attn.v_proj.weight", "blk.{}.attn_v.weight", Dim::kKeys, Dim::kWidth},
    {"blocks.{}.v.bias", "model.layers.{}.self_attn.v_proj.bias", "blk.{}.attn_v.bias", Dim::kKeys, Dim::kNone, When::kAttentionBias},
    {"blocks.{}.o", "model.layers.{}.self_attn.o_proj.weight", "blk.{}.attn_output.weight", Dim::kWidth, Dim::kQueries},
    {"blocks.{}.o.bias", "model.layers.{}.self_attn.o_proj.bias", "blk.{}.attn_output.bias", Dim::kWidth, Dim::kNone, When::kOutputBias},
    {"blocks.{}.norm2", "model.layers.{}.post_attention_layernorm.weight", "blk.{}.ffn_norm.weight", Dim::kWidth},
    {"blocks.{}.gate", "model.layers.{}.mlp.gate_proj.weight", "blk.{}.ffn_gate.weight", Dim::kMlp, Dim::kWidth},
    {"blocks.{}.gate.bias", "model.layers.{}.mlp.gate_proj.bias", "blk.{}.ffn_gate.bias", Dim::kMlp, Dim::kNone, When::kMlpBias},
    {"blocks.{}.up", "model.layers.{}.mlp.up_proj.weight", "blk.{}.ffn_up.weight", Dim::kMlp, Dim::kWidth},
    {"blocks.{}.up.bias", "model.layers.{}.mlp.up_proj.bias", "blk.{}.ffn_up.bias", Dim::kMlp, Dim::kNone, When::kMlpBias},
    {"blocks.{}.down", "model.layers.{}.mlp.down_proj.weight", "blk.{}.ffn_down.weight", Dim::kWidth, Dim::kMlp},
    {"blocks.{}.down.bias", "model.layers.{}.mlp.down_proj.bias", "blk.{}.ffn_down.bias", Dim::kWidth, Dim::kNone, When::kMlpBias},
    {"final_norm", "model.norm.weight", "output_norm.weight", Dim::kWidth},
    {"head", "lm_head.weight", "output.weight", Dim::kVocabulary, Dim::kWidth, When::kUntied},
};
// clang-format on

}  // namespace

const Family kLlama{"llama", "llama", read_config, read_gguf, kWeights, {}, "LlamaForCausalLM"};

}  // namespace sinkscope::model
