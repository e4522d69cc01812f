#pragma once

// Weight names of the many families whose hub files follow llama's.

#include "sinkscope/model/family.h"

namespace sinkscope::model::names {

// clang-format off
inline constexpr std::array<WeightName, 3> kEnds = {{
    {"embed", "model.embed_tokens.weight", "token_embd.weight", Dim::kVocabulary, Dim::kWidth},
    {"final_norm", "model.norm.weight", "output_norm.weight", Dim::kWidth},
    {"head", "lm_head.weight", "output.weight", Dim::kVocabulary, Dim::kWidth, when::untied},
}};

inline constexpr std::array<WeightName, 2> kPreNorms = {{
    {"blocks.{}.norm1", "model.layers.{}.input_layernorm.weight", "blk.{}.attn_norm.weight", Dim::kWidth},
    {"blocks.{}.norm2", "model.layers.{}.post_attention_layernorm.weight", "blk.{}.ffn_norm.weight", Dim::kWidth},
}};

/// `qk`: how GGUF orders the rows of q and k.
constexpr std::array<WeightName, 8> attention(Layout qk = Layout::kPlain) {
  return {{
      {"blocks.{}.q", "model.layers.{}.self_attn.q_proj.weight", "blk.{}.attn_q.weight", Dim::kQueries, Dim::kWidth, when::always, qk},
      {"blocks.{}.q.bias", "model.layers.{}.self_attn.q_proj.bias", "blk.{}.attn_q.bias", Dim::kQueries, Dim::kNone, when::attention_bias, qk},
      {"blocks.{}.k", "model.layers.{}.self_attn.k_proj.weight", "blk.{}.attn_k.weight", Dim::kKeys, Dim::kWidth, when::always, qk},
      {"blocks.{}.k.bias", "model.layers.{}.self_attn.k_proj.bias", "blk.{}.attn_k.bias", Dim::kKeys, Dim::kNone, when::attention_bias, qk},
      {"blocks.{}.v", "model.layers.{}.self_attn.v_proj.weight", "blk.{}.attn_v.weight", Dim::kKeys, Dim::kWidth},
      {"blocks.{}.v.bias", "model.layers.{}.self_attn.v_proj.bias", "blk.{}.attn_v.bias", Dim::kKeys, Dim::kNone, when::attention_bias},
      {"blocks.{}.o", "model.layers.{}.self_attn.o_proj.weight", "blk.{}.attn_output.weight", Dim::kWidth, Dim::kQueries},
      {"blocks.{}.o.bias", "model.layers.{}.self_attn.o_proj.bias", "blk.{}.attn_output.bias", Dim::kWidth, Dim::kNone, when::output_bias},
  }};
}

inline constexpr std::array<WeightName, 6> kGatedMlp = {{
    {"blocks.{}.gate", "model.layers.{}.mlp.gate_proj.weight", "blk.{}.ffn_gate.weight", Dim::kMlp, Dim::kWidth, when::dense},
    {"blocks.{}.gate.bias", "model.layers.{}.mlp.gate_proj.bias", "blk.{}.ffn_gate.bias", Dim::kMlp, Dim::kNone, when::mlp_bias},
    {"blocks.{}.up", "model.layers.{}.mlp.up_proj.weight", "blk.{}.ffn_up.weight", Dim::kMlp, Dim::kWidth, when::dense},
    {"blocks.{}.up.bias", "model.layers.{}.mlp.up_proj.bias", "blk.{}.ffn_up.bias", Dim::kMlp, Dim::kNone, when::mlp_bias},
    {"blocks.{}.down", "model.layers.{}.mlp.down_proj.weight", "blk.{}.ffn_down.weight", Dim::kWidth, Dim::kMlp, when::dense},
    {"blocks.{}.down.bias", "model.layers.{}.mlp.down_proj.bias", "blk.{}.ffn_down.bias", Dim::kWidth, Dim::kNone, when::mlp_bias},
}};

inline constexpr std::array<WeightName, 2> kHeadNorms = {{
    {"blocks.{}.q_norm", "model.layers.{}.self_attn.q_norm.weight", "blk.{}.attn_q_norm.weight", Dim::kHeadWidth, Dim::kNone, when::qk_norm},
    {"blocks.{}.k_norm", "model.layers.{}.self_attn.k_norm.weight", "blk.{}.attn_k_norm.weight", Dim::kHeadWidth, Dim::kNone, when::qk_norm},
}};
// clang-format on

}  // namespace sinkscope::model::names
