#pragma once

// What the Gemma families share: norms that hold w - 1 (GGUF files hold w), embeddings times
// sqrt(width), a gated GELU, a tied head.

#include <cmath>

#include "sinkscope/base/error.h"
#include "sinkscope/model/families/shared_names.h"

namespace sinkscope::model::gemma {

inline ModelSpec complete(ModelSpec spec) {
  spec.activation = Activation::kGeluTanh;
  spec.embed_scale = std::sqrt(static_cast<double>(spec.width));
  return spec;
}

inline ModelSpec read_config(const io::Config& config) {
  // Gemma names its activation elsewhere, or means another one by "gelu".
  const io::Config filled = with_defaults(config, R"({"tie_word_embeddings": true})");
  ModelSpec spec = read_decoder_config(filled);
  spec.norm_epsilon = filled.number({"rms_norm_eps"}, 1e-6);
  spec.tied_head = filled.flag({"tie_word_embeddings"});
  spec.attention_bias = spec.output_bias = filled.flag({"attention_bias"}, false);
  return complete(spec);
}

/// What Gemma 2 and 3 add: query_pre_attn_scalar, soft caps, norms at both ends of the branches.
inline void read_later_keys(const io::Config& config, ModelSpec& spec) {
  if (config.flag({"use_bidirectional_attention"}, false)) {
    throw Error(ErrorKind::kUnsupported, "read " + spec.family + " configuration",
                config.where() + ": use_bidirectional_attention is true", "");
  }
  spec.activation = read_activation(config, {"hidden_activation"}, "gelu_pytorch_tanh");
  spec.score_scale = 1 / std::sqrt(read_positive(config, "query_pre_attn_scalar", 256));
  spec.score_softcap = read_softcap(config, "attn_logit_softcapping");
  spec.logit_softcap = read_softcap(config, "final_logit_softcapping");
  spec.branch_norms = true;
}

inline double gguf_softcap(const io::GgufFile& file, const std::string& key, double fallback) {
  const double cap = file.number(key, fallback);
  if (cap >= 0 && std::isfinite(cap)) return cap;
  throw Error(ErrorKind::kBadFile, "read gemma configuration", file.place(key) + " is negative");
}

/// GGUF has no key for the score scale; by the files' own engine only the 27B sizes, which it knows
/// by their layers, take the width per head instead of the head's.
inline double score_scale(const ModelSpec& spec, int64_t layers_of_27b) {
  const auto scalar =
      static_cast<double>(spec.layers == layers_of_27b ? spec.width / spec.heads : spec.head_width);
  return 1 / std::sqrt(scalar);
}

/// norm2 stands before the MLP, the branch norms behind attention and MLP.
// clang-format off
inline constexpr std::array<WeightName, 2> kPreNorms = {{
    {"blocks.{}.norm1", "model.layers.{}.input_layernorm.weight", "blk.{}.attn_norm.weight", Dim::kWidth},
    {"blocks.{}.norm2", "model.layers.{}.pre_feedforward_layernorm.weight", "blk.{}.ffn_norm.weight", Dim::kWidth},
}};
// clang-format on

}  // namespace sinkscope::model::gemma
