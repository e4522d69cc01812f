// GPT-NeoX and Pythia: layer norms with bias, rotary positions over the first part of each head, q,
// k and v of a head side by side in one matrix; both branches read the stream, or one after the
// other.

#include "sinkscope/model/families/families.h"

namespace sinkscope::model {
namespace {

ModelSpec complete(ModelSpec spec, bool parallel) {
  spec.norm = Norm::kLayer;
  spec.form = parallel ? BlockForm::kParallel : BlockForm::kSequential;
  spec.gated_mlp = false;
  spec.mlp_bias = true;
  return spec;
}

ModelSpec read_config(const io::Config& given) {
  const io::Config config = with_defaults(given, R"({"rotary_pct": 0.25})");
  ModelSpec spec =
      complete(read_decoder_config(config), config.flag({"use_parallel_residual"}, true));
  spec.ropes = {read_rope(config, spec.head_width)};
  spec.activation = read_activation(config, {"hidden_act"}, "gelu");
  if (spec.mlp_width == 0) spec.mlp_width = 4 * spec.width;
  spec.norm_epsilon = config.number({"layer_norm_eps"}, 1e-5);
  spec.attention_bias = spec.output_bias = config.flag({"attention_bias"}, true);
  spec.tied_head = config.flag({"tie_word_embeddings"}, false);
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec =
      complete(read_decoder_gguf(file), file.flag("gptneox.use_parallel_residual", true));
  spec.ropes = {read_rope(file, spec.head_width)};
  spec.activation = Activation::kGelu;
  spec.norm_epsilon = file.number("gptneox.attention.layer_norm_epsilon");
  spec.attention_bias = file.find("blk.0.attn_qkv.bias") != nullptr;
  spec.output_bias = file.find("blk.0.attn_output.bias") != nullptr;
  spec.tied_head = file.find("output.weight") == nullptr;
  return spec;
}

// clang-format off
constexpr WeightName kWeights[] = {
    {"embed", "gpt_neox.embed_in.weight", "token_embd.weight", Dim::kVocabulary, Dim::kWidth},
    {"blocks.{}.norm1", "gpt_neox.layers.{}.input_layernorm.weight", "blk.{}.attn_norm.weight", Dim::kWidth},
    {"blocks.{}.norm1.bias", "gpt_neox.layers.{}.input_layernorm.bias", "blk.{}.attn_norm.bias", Dim::kWidth},
    {"blocks.{}.qkv", "gpt_neox.layers.{}.attention.query_key_value.weight", "blk.{}.attn_qkv.weight", Dim::kQkv, Dim::kWidth, when::always, Layout::kGroups},
    {"blocks.{}.qkv.bias", "gpt_neox.layers.{}.attention.query_key_value.bias", "blk.{}.attn_qkv.bias", Dim::kQkv, Dim::kNone, when::attention_bias, Layout::kGroups},
    {"blocks.{}.o", "gpt_neox.layers.{}.attention.dense.weight", "blk.{}.attn_output.weight", Dim::kWidth, Dim::kQueries},
    {"blocks.{}.o.bias", "gpt_neox.layers.{}.attention.dense.bias", "blk.{}.attn_output.bias", Dim::kWidth, Dim::kNone, when::output_bias},
    {"blocks.{}.norm2", "gpt_neox.layers.{}.post_attention_layernorm.weight", "blk.{}.ffn_norm.weight", Dim::kWidth},
    {"blocks.{}.norm2.bias", "gpt_neox.layers.{}.post_attention_layernorm.bias", "blk.{}.ffn_norm.bias", Dim::kWidth},
    {"blocks.{}.up", "gpt_neox.layers.{}.mlp.dense_h_to_4h.weight", "blk.{}.ffn_up.weight", Dim::kMlp, Dim::kWidth},
    {"blocks.{}.up.bias", "gpt_neox.layers.{}.mlp.dense_h_to_4h.bias", "blk.{}.ffn_up.bias", Dim::kMlp},
    {"blocks.{}.down", "gpt_neox.layers.{}.mlp.dense_4h_to_h.weight", "blk.{}.ffn_down.weight", Dim::kWidth, Dim::kMlp},
    {"blocks.{}.down.bias", "gpt_neox.layers.{}.mlp.dense_4h_to_h.bias", "blk.{}.ffn_down.bias", Dim::kWidth},
    {"final_norm", "gpt_neox.final_layer_norm.weight", "output_norm.weight", Dim::kWidth},
    {"final_norm.bias", "gpt_neox.final_layer_norm.bias", "output_norm.bias", Dim::kWidth},
    {"head", "embed_out.weight", "output.weight", Dim::kVocabulary, Dim::kWidth, when::untied},
    {"head", "lm_head.weight", "", Dim::kVocabulary, Dim::kWidth, when::untied},
};
// clang-format on

}  // namespace

const Family kGptNeox{"gpt_neox", "gptneox",   read_config,         read_gguf,
                      kWeights,   "gpt_neox.", "GPTNeoXForCausalLM"};

}  // namespace sinkscope::model
