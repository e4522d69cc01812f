#pragma once

// Weight names of bert and roberta. Old hub files call the gain and bias of a norm gamma and beta.

#include "sinkscope/model/families/prefixed_name.h"
#include "sinkscope/model/family.h"

namespace sinkscope::model::when {
inline bool separate_qkv(const ModelSpec& s, int64_t) { return !s.fused_qkv; }
inline bool fused_qkv(const ModelSpec& s, int64_t) { return s.fused_qkv; }
inline bool token_types(const ModelSpec& s, int64_t) { return s.token_types > 0; }
inline bool classes(const ModelSpec& s, int64_t) {
  return s.readout == Readout::kClasses || s.readout == Readout::kClassesFirstMean;
}
inline bool masked_tokens(const ModelSpec& s, int64_t) {
  return s.readout == Readout::kMaskedTokens;
}
inline bool masked_untied(const ModelSpec& s, int64_t) {
  return s.readout == Readout::kMaskedTokens && !s.tied_head;
}
}  // namespace sinkscope::model::when

namespace sinkscope::model::names {

// clang-format off
template <Text P>
constexpr std::array<WeightName, 7> bert_embeddings() {
  return {{
      {"embed", kPrefixed<P, "embeddings.word_embeddings.weight">, "token_embd.weight", Dim::kVocabulary, Dim::kWidth},
      {"positions", kPrefixed<P, "embeddings.position_embeddings.weight">, "position_embd.weight", Dim::kPositions, Dim::kWidth},
      {"token_types", kPrefixed<P, "embeddings.token_type_embeddings.weight">, "token_types.weight", Dim::kTokenTypes, Dim::kWidth, when::token_types},
      {"embed_norm", kPrefixed<P, "embeddings.LayerNorm.weight">, "token_embd_norm.weight", Dim::kWidth},
      {"embed_norm", kPrefixed<P, "embeddings.LayerNorm.gamma">, "", Dim::kWidth},
      {"embed_norm.bias", kPrefixed<P, "embeddings.LayerNorm.bias">, "token_embd_norm.bias", Dim::kWidth},
      {"embed_norm.bias", kPrefixed<P, "embeddings.LayerNorm.beta">, "", Dim::kWidth},
  }};
}

template <Text P>
constexpr std::array<WeightName, 20> bert_blocks() {
  return {{
      {"blocks.{}.q", kPrefixed<P, "encoder.layer.{}.attention.self.query.weight">, "blk.{}.attn_q.weight", Dim::kQueries, Dim::kWidth, when::separate_qkv},
      {"blocks.{}.q.bias", kPrefixed<P, "encoder.layer.{}.attention.self.query.bias">, "blk.{}.attn_q.bias", Dim::kQueries, Dim::kNone, when::separate_qkv},
      {"blocks.{}.k", kPrefixed<P, "encoder.layer.{}.attention.self.key.weight">, "blk.{}.attn_k.weight", Dim::kKeys, Dim::kWidth, when::separate_qkv},
      {"blocks.{}.k.bias", kPrefixed<P, "encoder.layer.{}.attention.self.key.bias">, "blk.{}.attn_k.bias", Dim::kKeys, Dim::kNone, when::separate_qkv},
      {"blocks.{}.v", kPrefixed<P, "encoder.layer.{}.attention.self.value.weight">, "blk.{}.attn_v.weight", Dim::kKeys, Dim::kWidth, when::separate_qkv},
      {"blocks.{}.v.bias", kPrefixed<P, "encoder.layer.{}.attention.self.value.bias">, "blk.{}.attn_v.bias", Dim::kKeys, Dim::kNone, when::separate_qkv},
      {"blocks.{}.o", kPrefixed<P, "encoder.layer.{}.attention.output.dense.weight">, "blk.{}.attn_output.weight", Dim::kWidth, Dim::kQueries},
      {"blocks.{}.o.bias", kPrefixed<P, "encoder.layer.{}.attention.output.dense.bias">, "blk.{}.attn_output.bias", Dim::kWidth},
      {"blocks.{}.norm1", kPrefixed<P, "encoder.layer.{}.attention.output.LayerNorm.weight">, "blk.{}.attn_output_norm.weight", Dim::kWidth},
      {"blocks.{}.norm1", kPrefixed<P, "encoder.layer.{}.attention.output.LayerNorm.gamma">, "", Dim::kWidth},
      {"blocks.{}.norm1.bias", kPrefixed<P, "encoder.layer.{}.attention.output.LayerNorm.bias">, "blk.{}.attn_output_norm.bias", Dim::kWidth},
      {"blocks.{}.norm1.bias", kPrefixed<P, "encoder.layer.{}.attention.output.LayerNorm.beta">, "", Dim::kWidth},
      {"blocks.{}.up", kPrefixed<P, "encoder.layer.{}.intermediate.dense.weight">, "blk.{}.ffn_up.weight", Dim::kMlp, Dim::kWidth},
      {"blocks.{}.up.bias", kPrefixed<P, "encoder.layer.{}.intermediate.dense.bias">, "blk.{}.ffn_up.bias", Dim::kMlp},
      {"blocks.{}.down", kPrefixed<P, "encoder.layer.{}.output.dense.weight">, "blk.{}.ffn_down.weight", Dim::kWidth, Dim::kMlp},
      {"blocks.{}.down.bias", kPrefixed<P, "encoder.layer.{}.output.dense.bias">, "blk.{}.ffn_down.bias", Dim::kWidth},
      {"blocks.{}.norm2", kPrefixed<P, "encoder.layer.{}.output.LayerNorm.weight">, "blk.{}.layer_output_norm.weight", Dim::kWidth},
      {"blocks.{}.norm2", kPrefixed<P, "encoder.layer.{}.output.LayerNorm.gamma">, "", Dim::kWidth},
      {"blocks.{}.norm2.bias", kPrefixed<P, "encoder.layer.{}.output.LayerNorm.bias">, "blk.{}.layer_output_norm.bias", Dim::kWidth},
      {"blocks.{}.norm2.bias", kPrefixed<P, "encoder.layer.{}.output.LayerNorm.beta">, "", Dim::kWidth},
  }};
}
// clang-format on

/// The same rows for a family without a GGUF architecture of its own.
template <size_t N>
constexpr std::array<WeightName, N> without_gguf(std::array<WeightName, N> rows) {
  for (WeightName& row : rows) row.gguf = {};
  return rows;
}

}  // namespace sinkscope::model::names
