#pragma once

// Weight names that bloom and falcon share.

#include "sinkscope/model/family.h"

namespace sinkscope::model::names {

inline bool joint_norm(const ModelSpec& s, int64_t) { return !s.parallel_norms; }
inline bool sequential(const ModelSpec& s, int64_t) { return s.form == BlockForm::kSequential; }

// clang-format off
inline constexpr std::array<WeightName, 16> kBloom = {{
    {"embed", "transformer.word_embeddings.weight", "token_embd.weight", Dim::kVocabulary, Dim::kWidth},
    {"blocks.{}.norm1", "transformer.h.{}.input_layernorm.weight", "blk.{}.attn_norm.weight", Dim::kWidth, Dim::kNone, joint_norm},
    {"blocks.{}.norm1.bias", "transformer.h.{}.input_layernorm.bias", "blk.{}.attn_norm.bias", Dim::kWidth, Dim::kNone, joint_norm},
    {"blocks.{}.qkv", "transformer.h.{}.self_attention.query_key_value.weight", "blk.{}.attn_qkv.weight", Dim::kQkv, Dim::kWidth, when::always, Layout::kGroups},
    {"blocks.{}.qkv.bias", "transformer.h.{}.self_attention.query_key_value.bias", "blk.{}.attn_qkv.bias", Dim::kQkv, Dim::kNone, when::attention_bias, Layout::kGroups},
    {"blocks.{}.o", "transformer.h.{}.self_attention.dense.weight", "blk.{}.attn_output.weight", Dim::kWidth, Dim::kQueries},
    {"blocks.{}.o.bias", "transformer.h.{}.self_attention.dense.bias", "blk.{}.attn_output.bias", Dim::kWidth, Dim::kNone, when::output_bias},
    {"blocks.{}.norm2", "transformer.h.{}.post_attention_layernorm.weight", "blk.{}.ffn_norm.weight", Dim::kWidth, Dim::kNone, sequential},
    {"blocks.{}.norm2.bias", "transformer.h.{}.post_attention_layernorm.bias", "blk.{}.ffn_norm.bias", Dim::kWidth, Dim::kNone, sequential},
    {"blocks.{}.up", "transformer.h.{}.mlp.dense_h_to_4h.weight", "blk.{}.ffn_up.weight", Dim::kMlp, Dim::kWidth},
    {"blocks.{}.up.bias", "transformer.h.{}.mlp.dense_h_to_4h.bias", "blk.{}.ffn_up.bias", Dim::kMlp, Dim::kNone, when::mlp_bias},
    {"blocks.{}.down", "transformer.h.{}.mlp.dense_4h_to_h.weight", "blk.{}.ffn_down.weight", Dim::kWidth, Dim::kMlp},
    {"blocks.{}.down.bias", "transformer.h.{}.mlp.dense_4h_to_h.bias", "blk.{}.ffn_down.bias", Dim::kWidth, Dim::kNone, when::mlp_bias},
    {"final_norm", "transformer.ln_f.weight", "output_norm.weight", Dim::kWidth},
    {"final_norm.bias", "transformer.ln_f.bias", "output_norm.bias", Dim::kWidth},
    {"head", "lm_head.weight", "output.weight", Dim::kVocabulary, Dim::kWidth, when::untied},
}};
// clang-format on

}  // namespace sinkscope::model::names
