#pragma once

// What gpt2 and gpt_bigcode share: facts, configuration keys, weight names.

#include "sinkscope/model/family.h"

namespace sinkscope::model::gpt2 {

inline ModelSpec complete(ModelSpec spec) {
  spec.norm = Norm::kLayer;
  spec.positions = Positions::kLearned;
  spec.gated_mlp = false;
  spec.attention_bias = spec.output_bias = spec.mlp_bias = true;  // no config key says so
  return spec;
}

inline ModelSpec read_config(const io::Config& config, std::string_view activation) {
  ModelSpec spec = complete(read_decoder_config(config));
  spec.activation = read_activation(config, {"activation_function"}, activation);
  if (!config.flag({"scale_attn_weights"}, true)) spec.score_scale = 1;
  if (spec.mlp_width == 0) spec.mlp_width = 4 * spec.width;
  spec.norm_epsilon = config.number({"layer_norm_epsilon"}, 1e-5);
  spec.tied_head = config.flag({"tie_word_embeddings"}, true);
  return spec;
}

inline ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = complete(read_decoder_gguf(file));
  spec.activation = Activation::kGeluTanh;
  spec.norm_epsilon =
      file.number(file.text("general.architecture") + ".attention.layer_norm_epsilon");
  spec.tied_head = file.find("output.weight") == nullptr;
  return spec;
}

}  // namespace sinkscope::model::gpt2

namespace sinkscope::model::names {

/// How safetensors store the fused projection, its bias and the other matrices.
struct Gpt2Layouts {
  Layout qkv, qkv_bias, linear;
};

// clang-format off
constexpr std::array<WeightName, 17> gpt2(Gpt2Layouts layouts) {
  return {{
      {"embed", "transformer.wte.weight", "token_embd.weight", Dim::kVocabulary, Dim::kWidth},
      {"positions", "transformer.wpe.weight", "position_embd.weight", Dim::kPositions, Dim::kWidth},
      {"blocks.{}.norm1", "transformer.h.{}.ln_1.weight", "blk.{}.attn_norm.weight", Dim::kWidth},
      {"blocks.{}.norm1.bias", "transformer.h.{}.ln_1.bias", "blk.{}.attn_norm.bias", Dim::kWidth},
      {"blocks.{}.qkv", "transformer.h.{}.attn.c_attn.weight", "blk.{}.attn_qkv.weight", Dim::kQkv, Dim::kWidth, when::always, layouts.qkv},
      {"blocks.{}.qkv.bias", "transformer.h.{}.attn.c_attn.bias", "blk.{}.attn_qkv.bias", Dim::kQkv, Dim::kNone, when::always, layouts.qkv_bias},
      {"blocks.{}.o", "transformer.h.{}.attn.c_proj.weight", "blk.{}.attn_output.weight", Dim::kWidth, Dim::kQueries, when::always, layouts.linear},
      {"blocks.{}.o.bias", "transformer.h.{}.attn.c_proj.bias", "blk.{}.attn_output.bias", Dim::kWidth},
      {"blocks.{}.norm2", "transformer.h.{}.ln_2.weight", "blk.{}.ffn_norm.weight", Dim::kWidth},
      {"blocks.{}.norm2.bias", "transformer.h.{}.ln_2.bias", "blk.{}.ffn_norm.bias", Dim::kWidth},
      {"blocks.{}.up", "transformer.h.{}.mlp.c_fc.weight", "blk.{}.ffn_up.weight", Dim::kMlp, Dim::kWidth, when::always, layouts.linear},
      {"blocks.{}.up.bias", "transformer.h.{}.mlp.c_fc.bias", "blk.{}.ffn_up.bias", Dim::kMlp},
      {"blocks.{}.down", "transformer.h.{}.mlp.c_proj.weight", "blk.{}.ffn_down.weight", Dim::kWidth, Dim::kMlp, when::always, layouts.linear},
      {"blocks.{}.down.bias", "transformer.h.{}.mlp.c_proj.bias", "blk.{}.ffn_down.bias", Dim::kWidth},
      {"final_norm", "transformer.ln_f.weight", "output_norm.weight", Dim::kWidth},
      {"final_norm.bias", "transformer.ln_f.bias", "output_norm.bias", Dim::kWidth},
      {"head", "lm_head.weight", "output.weight", Dim::kVocabulary, Dim::kWidth, when::untied},
  }};
}
// clang-format on

}  // namespace sinkscope::model::names
