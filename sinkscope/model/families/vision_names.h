#pragma once

// Weight names of image encoders: the vit line (vit, deit, ijepa, vit_mae, beit, dinov2), the
// towers of clip and siglip, and timm.

#include "sinkscope/model/families/prefixed_name.h"
#include "sinkscope/model/family.h"

namespace sinkscope::model::when {
inline bool query_bias(const ModelSpec& s, int64_t) { return s.attention_bias && s.query_bias; }
inline bool key_bias(const ModelSpec& s, int64_t) { return s.attention_bias && s.key_bias; }
inline bool value_bias(const ModelSpec& s, int64_t) { return s.attention_bias && s.value_bias; }
inline bool plain_mlp(const ModelSpec& s, int64_t) { return !s.gated_mlp; }
inline bool gate_bias(const ModelSpec& s, int64_t) { return s.gated_mlp && s.mlp_bias; }
inline bool layer_scale(const ModelSpec& s, int64_t) { return s.layer_scale; }
inline bool patch_grid(const ModelSpec& s, int64_t) { return s.positions == Positions::kPatchGrid; }
inline bool patch_bias(const ModelSpec& s, int64_t) { return s.vision.patch_bias; }
inline bool class_token(const ModelSpec& s, int64_t) { return s.vision.class_token; }
inline bool distillation_token(const ModelSpec& s, int64_t) { return s.vision.distillation_token; }
inline bool registers(const ModelSpec& s, int64_t) { return s.vision.registers > 0; }
inline bool final_norm(const ModelSpec& s, int64_t) { return s.final_norm; }
inline bool tanh_first(const ModelSpec& s, int64_t) { return s.pooler == Pooler::kTanhFirst; }
}  // namespace sinkscope::model::when

namespace sinkscope::model::names {

// clang-format off
template <Text P>
constexpr std::array<WeightName, 6> vit_ends() {
  return {{
      {"patch", kPrefixed<P, "embeddings.patch_embeddings.projection.weight">, "", Dim::kWidth, Dim::kPatchInputs},
      {"patch.bias", kPrefixed<P, "embeddings.patch_embeddings.projection.bias">, "", Dim::kWidth},
      {"class_token", kPrefixed<P, "embeddings.cls_token">, "", Dim::kWidth, Dim::kNone, when::class_token},
      {"positions", kPrefixed<P, "embeddings.position_embeddings">, "", Dim::kPositions, Dim::kWidth, when::patch_grid},
      {"final_norm", kPrefixed<P, "layernorm.weight">, "", Dim::kWidth, Dim::kNone, when::final_norm},
      {"final_norm.bias", kPrefixed<P, "layernorm.bias">, "", Dim::kWidth, Dim::kNone, when::final_norm},
  }};
}

template <Text P>
constexpr std::array<WeightName, 8> vit_attention() {
  return {{
      {"blocks.{}.q", kPrefixed<P, "encoder.layer.{}.attention.attention.query.weight">, "", Dim::kQueries, Dim::kWidth},
      {"blocks.{}.q.bias", kPrefixed<P, "encoder.layer.{}.attention.attention.query.bias">, "", Dim::kQueries, Dim::kNone, when::query_bias},
      {"blocks.{}.k", kPrefixed<P, "encoder.layer.{}.attention.attention.key.weight">, "", Dim::kKeys, Dim::kWidth},
      {"blocks.{}.k.bias", kPrefixed<P, "encoder.layer.{}.attention.attention.key.bias">, "", Dim::kKeys, Dim::kNone, when::key_bias},
      {"blocks.{}.v", kPrefixed<P, "encoder.layer.{}.attention.attention.value.weight">, "", Dim::kKeys, Dim::kWidth},
      {"blocks.{}.v.bias", kPrefixed<P, "encoder.layer.{}.attention.attention.value.bias">, "", Dim::kKeys, Dim::kNone, when::value_bias},
      {"blocks.{}.o", kPrefixed<P, "encoder.layer.{}.attention.output.dense.weight">, "", Dim::kWidth, Dim::kQueries},
      {"blocks.{}.o.bias", kPrefixed<P, "encoder.layer.{}.attention.output.dense.bias">, "", Dim::kWidth},
  }};
}

template <Text P>
constexpr std::array<WeightName, 8> vit_mlp() {
  return {{
      {"blocks.{}.norm1", kPrefixed<P, "encoder.layer.{}.layernorm_before.weight">, "", Dim::kWidth},
      {"blocks.{}.norm1.bias", kPrefixed<P, "encoder.layer.{}.layernorm_before.bias">, "", Dim::kWidth},
      {"blocks.{}.norm2", kPrefixed<P, "encoder.layer.{}.layernorm_after.weight">, "", Dim::kWidth},
      {"blocks.{}.norm2.bias", kPrefixed<P, "encoder.layer.{}.layernorm_after.bias">, "", Dim::kWidth},
      {"blocks.{}.up", kPrefixed<P, "encoder.layer.{}.intermediate.dense.weight">, "", Dim::kMlp, Dim::kWidth},
      {"blocks.{}.up.bias", kPrefixed<P, "encoder.layer.{}.intermediate.dense.bias">, "", Dim::kMlp},
      {"blocks.{}.down", kPrefixed<P, "encoder.layer.{}.output.dense.weight">, "", Dim::kWidth, Dim::kMlp},
      {"blocks.{}.down.bias", kPrefixed<P, "encoder.layer.{}.output.dense.bias">, "", Dim::kWidth},
  }};
}

/// The pooler that vit and deit are saved with by classes without a classifier.
template <Text P>
constexpr std::array<WeightName, 2> vit_pooler() {
  return {{
      {"pooler", kPrefixed<P, "pooler.dense.weight">, "", Dim::kWidth, Dim::kWidth, when::tanh_first, Layout::kPlain, true},
      {"pooler.bias", kPrefixed<P, "pooler.dense.bias">, "", Dim::kWidth, Dim::kNone, when::tanh_first, Layout::kPlain, true},
  }};
}

inline constexpr std::array<WeightName, 2> kClassifier = {{
    {"classifier", "classifier.weight", "", Dim::kClasses, Dim::kWidth, when::always, Layout::kPlain, true},
    {"classifier.bias", "classifier.bias", "", Dim::kClasses, Dim::kNone, when::always, Layout::kPlain, true},
}};

/// Blocks of dinov2, with and without registers.
template <Text P>
constexpr std::array<WeightName, 14> dinov2_mlp() {
  return {{
      {"blocks.{}.norm1", kPrefixed<P, "encoder.layer.{}.norm1.weight">, "", Dim::kWidth},
      {"blocks.{}.norm1.bias", kPrefixed<P, "encoder.layer.{}.norm1.bias">, "", Dim::kWidth},
      {"blocks.{}.attn_scale", kPrefixed<P, "encoder.layer.{}.layer_scale1.lambda1">, "", Dim::kWidth},
      {"blocks.{}.norm2", kPrefixed<P, "encoder.layer.{}.norm2.weight">, "", Dim::kWidth},
      {"blocks.{}.norm2.bias", kPrefixed<P, "encoder.layer.{}.norm2.bias">, "", Dim::kWidth},
      {"blocks.{}.up", kPrefixed<P, "encoder.layer.{}.mlp.fc1.weight">, "", Dim::kMlp, Dim::kWidth, when::plain_mlp},
      {"blocks.{}.up.bias", kPrefixed<P, "encoder.layer.{}.mlp.fc1.bias">, "", Dim::kMlp, Dim::kNone, when::plain_mlp},
      {"blocks.{}.down", kPrefixed<P, "encoder.layer.{}.mlp.fc2.weight">, "", Dim::kWidth, Dim::kMlp, when::plain_mlp},
      {"blocks.{}.down.bias", kPrefixed<P, "encoder.layer.{}.mlp.fc2.bias">, "", Dim::kWidth, Dim::kNone, when::plain_mlp},
      {"blocks.{}.gate_up", kPrefixed<P, "encoder.layer.{}.mlp.weights_in.weight">, "", Dim::kGateUp, Dim::kWidth, when::gated_mlp},
      {"blocks.{}.gate_up.bias", kPrefixed<P, "encoder.layer.{}.mlp.weights_in.bias">, "", Dim::kGateUp, Dim::kNone, when::gated_mlp},
      {"blocks.{}.down", kPrefixed<P, "encoder.layer.{}.mlp.weights_out.weight">, "", Dim::kWidth, Dim::kMlp, when::gated_mlp},
      {"blocks.{}.down.bias", kPrefixed<P, "encoder.layer.{}.mlp.weights_out.bias">, "", Dim::kWidth, Dim::kNone, when::gated_mlp},
      {"blocks.{}.mlp_scale", kPrefixed<P, "encoder.layer.{}.layer_scale2.lambda1">, "", Dim::kWidth},
  }};
}

/// dinov2 classifies by the first token beside the mean of the patches.
inline constexpr std::array<WeightName, 2> kWideClassifier = {{
    {"classifier", "classifier.weight", "", Dim::kClasses, Dim::kTwoWidth, when::always, Layout::kPlain, true},
    {"classifier.bias", "classifier.bias", "", Dim::kClasses, Dim::kNone, when::always, Layout::kPlain, true},
}};

/// Blocks of the towers of clip and siglip.
template <Text P>
constexpr std::array<WeightName, 16> tower_blocks() {
  return {{
      {"blocks.{}.norm1", kPrefixed<P, "encoder.layers.{}.layer_norm1.weight">, "", Dim::kWidth},
      {"blocks.{}.norm1.bias", kPrefixed<P, "encoder.layers.{}.layer_norm1.bias">, "", Dim::kWidth},
      {"blocks.{}.q", kPrefixed<P, "encoder.layers.{}.self_attn.q_proj.weight">, "", Dim::kQueries, Dim::kWidth},
      {"blocks.{}.q.bias", kPrefixed<P, "encoder.layers.{}.self_attn.q_proj.bias">, "", Dim::kQueries},
      {"blocks.{}.k", kPrefixed<P, "encoder.layers.{}.self_attn.k_proj.weight">, "", Dim::kKeys, Dim::kWidth},
      {"blocks.{}.k.bias", kPrefixed<P, "encoder.layers.{}.self_attn.k_proj.bias">, "", Dim::kKeys},
      {"blocks.{}.v", kPrefixed<P, "encoder.layers.{}.self_attn.v_proj.weight">, "", Dim::kKeys, Dim::kWidth},
      {"blocks.{}.v.bias", kPrefixed<P, "encoder.layers.{}.self_attn.v_proj.bias">, "", Dim::kKeys},
      {"blocks.{}.o", kPrefixed<P, "encoder.layers.{}.self_attn.out_proj.weight">, "", Dim::kWidth, Dim::kQueries},
      {"blocks.{}.o.bias", kPrefixed<P, "encoder.layers.{}.self_attn.out_proj.bias">, "", Dim::kWidth},
      {"blocks.{}.norm2", kPrefixed<P, "encoder.layers.{}.layer_norm2.weight">, "", Dim::kWidth},
      {"blocks.{}.norm2.bias", kPrefixed<P, "encoder.layers.{}.layer_norm2.bias">, "", Dim::kWidth},
      {"blocks.{}.up", kPrefixed<P, "encoder.layers.{}.mlp.fc1.weight">, "", Dim::kMlp, Dim::kWidth},
      {"blocks.{}.up.bias", kPrefixed<P, "encoder.layers.{}.mlp.fc1.bias">, "", Dim::kMlp},
      {"blocks.{}.down", kPrefixed<P, "encoder.layers.{}.mlp.fc2.weight">, "", Dim::kWidth, Dim::kMlp},
      {"blocks.{}.down.bias", kPrefixed<P, "encoder.layers.{}.mlp.fc2.bias">, "", Dim::kWidth},
  }};
}

inline constexpr std::array<WeightName, 5> kVisionTowerEnds = {{
    {"patch", "vision_model.embeddings.patch_embedding.weight", "", Dim::kWidth, Dim::kPatchInputs},
    {"patch.bias", "vision_model.embeddings.patch_embedding.bias", "", Dim::kWidth, Dim::kNone, when::patch_bias},
    {"positions", "vision_model.embeddings.position_embedding.weight", "", Dim::kPositions, Dim::kWidth},
    {"final_norm", "vision_model.post_layernorm.weight", "", Dim::kWidth},
    {"final_norm.bias", "vision_model.post_layernorm.bias", "", Dim::kWidth},
}};

/// A vit or deit as timm names it. The first row tells such a file from one with hub names.
inline constexpr std::array<WeightName, 25> kTimm = {{
    {"patch", "patch_embed.proj.weight", "", Dim::kWidth, Dim::kPatchInputs},
    {"patch.bias", "patch_embed.proj.bias", "", Dim::kWidth},
    {"class_token", "cls_token", "", Dim::kWidth},
    {"distillation_token", "dist_token", "", Dim::kWidth, Dim::kNone, when::distillation_token},
    {"positions", "pos_embed", "", Dim::kPositions, Dim::kWidth},
    {"blocks.{}.norm1", "blocks.{}.norm1.weight", "", Dim::kWidth},
    {"blocks.{}.norm1.bias", "blocks.{}.norm1.bias", "", Dim::kWidth},
    {"blocks.{}.qkv", "blocks.{}.attn.qkv.weight", "", Dim::kQkv, Dim::kWidth},
    {"blocks.{}.qkv.bias", "blocks.{}.attn.qkv.bias", "", Dim::kQkv, Dim::kNone, when::attention_bias},
    {"blocks.{}.o", "blocks.{}.attn.proj.weight", "", Dim::kWidth, Dim::kQueries},
    {"blocks.{}.o.bias", "blocks.{}.attn.proj.bias", "", Dim::kWidth},
    {"blocks.{}.attn_scale", "blocks.{}.ls1.gamma", "", Dim::kWidth, Dim::kNone, when::layer_scale},
    {"blocks.{}.norm2", "blocks.{}.norm2.weight", "", Dim::kWidth},
    {"blocks.{}.norm2.bias", "blocks.{}.norm2.bias", "", Dim::kWidth},
    {"blocks.{}.up", "blocks.{}.mlp.fc1.weight", "", Dim::kMlp, Dim::kWidth},
    {"blocks.{}.up.bias", "blocks.{}.mlp.fc1.bias", "", Dim::kMlp},
    {"blocks.{}.down", "blocks.{}.mlp.fc2.weight", "", Dim::kWidth, Dim::kMlp},
    {"blocks.{}.down.bias", "blocks.{}.mlp.fc2.bias", "", Dim::kWidth},
    {"blocks.{}.mlp_scale", "blocks.{}.ls2.gamma", "", Dim::kWidth, Dim::kNone, when::layer_scale},
    {"final_norm", "norm.weight", "", Dim::kWidth},
    {"final_norm.bias", "norm.bias", "", Dim::kWidth},
    {"classifier", "head.weight", "", Dim::kClasses, Dim::kWidth, when::always, Layout::kPlain, true},
    {"classifier.bias", "head.bias", "", Dim::kClasses, Dim::kNone, when::always, Layout::kPlain, true},
    {"classifier2", "head_dist.weight", "", Dim::kClasses, Dim::kWidth, when::distillation_token, Layout::kPlain, true},
    {"classifier2.bias", "head_dist.bias", "", Dim::kClasses, Dim::kNone, when::distillation_token, Layout::kPlain, true},
}};
// clang-format on

}  // namespace sinkscope::model::names
