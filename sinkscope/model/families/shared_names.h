#pragma once

// Rows and changes of rows that some families add to those of llama_names.h.

#include "sinkscope/model/families/llama_names.h"

namespace sinkscope::model::names {

/// The same weights in a family whose hub files hold w - 1 for the gains of norms.
template <size_t N>
constexpr std::array<WeightName, N> minus_one(std::array<WeightName, N> rows) {
  for (WeightName& row : rows) {
    const bool gain = row.columns == Dim::kNone && !row.ours.ends_with(".bias");
    if (gain) row.layout = Layout::kMinusOne;
  }
  return rows;
}

/// Language models inside a model of images and text have one of these for "model.".
inline constexpr std::string_view kNestedPrefixes[] = {"language_model.model.",
                                                       "model.language_model."};

// clang-format off
/// Biases of kPreNorms and of the final norm.
inline constexpr std::array<WeightName, 3> kNormBiases = {{
    {"blocks.{}.norm1.bias", "model.layers.{}.input_layernorm.bias", "blk.{}.attn_norm.bias", Dim::kWidth},
    {"blocks.{}.norm2.bias", "model.layers.{}.post_attention_layernorm.bias", "blk.{}.ffn_norm.bias", Dim::kWidth},
    {"final_norm.bias", "model.norm.bias", "output_norm.bias", Dim::kWidth},
}};

/// At the end of the branches.
inline constexpr std::array<WeightName, 2> kBranchNorms = {{
    {"blocks.{}.attn_norm", "model.layers.{}.post_attention_layernorm.weight", "blk.{}.post_attention_norm.weight", Dim::kWidth},
    {"blocks.{}.mlp_norm", "model.layers.{}.post_feedforward_layernorm.weight", "blk.{}.post_ffw_norm.weight", Dim::kWidth},
}};

/// Over the whole projection.
inline constexpr std::array<WeightName, 2> kFullNorms = {{
    {"blocks.{}.q_norm", "model.layers.{}.self_attn.q_norm.weight", "blk.{}.attn_q_norm.weight", Dim::kQueries},
    {"blocks.{}.k_norm", "model.layers.{}.self_attn.k_norm.weight", "blk.{}.attn_k_norm.weight", Dim::kKeys},
}};

inline constexpr std::array<WeightName, 4> kExperts = {{
    {"blocks.{}.router", "model.layers.{}.mlp.gate.weight", "blk.{}.ffn_gate_inp.weight", Dim::kExperts, Dim::kWidth, when::experts},
    {"blocks.{}.experts.gate", "model.layers.{}.mlp.experts.{e}.gate_proj.weight", "blk.{}.ffn_gate_exps.weight", Dim::kExpertMlp, Dim::kWidth, when::experts},
    {"blocks.{}.experts.up", "model.layers.{}.mlp.experts.{e}.up_proj.weight", "blk.{}.ffn_up_exps.weight", Dim::kExpertMlp, Dim::kWidth, when::experts},
    {"blocks.{}.experts.down", "model.layers.{}.mlp.experts.{e}.down_proj.weight", "blk.{}.ffn_down_exps.weight", Dim::kWidth, Dim::kExpertMlp, when::experts},
}};
// clang-format on

}  // namespace sinkscope::model::names
