#pragma once

// What the Qwen families share.

#include "sinkscope/model/families/shared_names.h"

namespace sinkscope::model::qwen {

/// Windows are off unless use_sliding_window says otherwise, and then in the blocks from
/// max_window_layers on.
inline void read_windows(const io::Config& config, ModelSpec& spec) {
  const io::Config filled =
      with_defaults(config, R"({"use_sliding_window": false, "sliding_window": 4096})");
  model::read_windows(filled, spec);
  if (config.has("layer_types")) return;
  const int64_t first = filled.integer({"max_window_layers"}, 28);
  for (int64_t i = 0; i < spec.layers && i < first; ++i) {
    spec.blocks[static_cast<size_t>(i)].window = 0;
  }
}

/// Biases of Qwen3: on q, k, v and o, or nowhere.
inline void read_biases(const io::Config& config, ModelSpec& spec) {
  spec.attention_bias = spec.output_bias = config.flag({"attention_bias"}, false);
}
inline void read_biases(const io::GgufFile& file, ModelSpec& spec) {
  spec.attention_bias = file.find("blk.0.attn_q.bias") != nullptr;
  spec.output_bias = file.find("blk.0.attn_output.bias") != nullptr;
}

}  // namespace sinkscope::model::qwen
