#pragma once

// What OLMo 2 and 3 share.

#include "sinkscope/model/families/shared_names.h"

namespace sinkscope::model::olmo {

inline ModelSpec complete(ModelSpec spec) {
  spec.branch_norms = true;
  spec.qk_norm = QkNorm::kFull;
  return spec;
}

/// All but the rotary tables, which OLMo 3 has two of.
inline ModelSpec read_blocks(const io::Config& config) {
  ModelSpec spec = complete(read_decoder_config(config));
  spec.norm_epsilon = config.number({"rms_norm_eps"}, 1e-5);
  spec.activation = read_activation(config, {"hidden_act"}, "silu");
  spec.tied_head = config.flag({"tie_word_embeddings"}, false);
  spec.attention_bias = spec.output_bias = config.flag({"attention_bias"}, false);
  return spec;
}

inline ModelSpec read_config(const io::Config& config) {
  ModelSpec spec = read_blocks(config);
  spec.ropes = {read_rope(config, spec.head_width)};
  return spec;
}

inline ModelSpec read_gguf(const io::GgufFile& file) { return complete(read_llama_gguf(file)); }

/// Both have one GGUF architecture; OLMo 3 is the one with windows.
inline bool has_windows(const io::GgufFile& file) {
  return file.integer("olmo2.attention.sliding_window", 0) > 0;
}

inline constexpr auto kWeights = join(names::kEnds, names::attention(), names::kFullNorms,
                                      names::kBranchNorms, names::kGatedMlp);

}  // namespace sinkscope::model::olmo
