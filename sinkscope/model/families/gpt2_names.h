#pragma once

// Weight names that gpt2 and gpt_bigcode share.

#include "sinkscope/model/family.h"

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
