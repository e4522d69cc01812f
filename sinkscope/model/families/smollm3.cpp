// SmolLM3: a llama block with a tied head; blocks whose entry in no_rope_layers is 0 (without the
// key every fourth) do not rotate q and k, and only those may have a window.

#include <fmt/format.h>

#include "sinkscope/base/error.h"
#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/llama_names.h"
#include "sinkscope/model/sizes.h"

namespace sinkscope::model {
namespace {

void drop_ropes(const io::Config& config, ModelSpec& spec) {
  const std::vector<int64_t> rotates = config.integers("no_rope_layers");
  const int64_t interval = check_size(config.integer({"no_rope_layer_interval"}, 4), config.where(),
                                      "no_rope_layer_interval");
  if (config.has("no_rope_layers") && rotates.size() < spec.blocks.size()) {
    throw Error(ErrorKind::kBadFile, "read smollm3 configuration",
                fmt::format("{}: no_rope_layers has {} entries, the model {} layers",
                            config.where(), rotates.size(), spec.layers));
  }
  for (size_t i = 0; i < spec.blocks.size(); ++i) {
    const bool turns =
        rotates.empty() ? (static_cast<int64_t>(i) + 1) % interval != 0 : rotates[i] != 0;
    if (!turns) spec.blocks[i].rope = -1;
  }
}

ModelSpec read_config(const io::Config& given) {
  const io::Config config = with_defaults(
      given, R"({"num_key_value_heads": 4, "rope_theta": 2000000.0, "tie_word_embeddings": true,
                 "use_sliding_window": false})");
  ModelSpec spec = read_llama_config(config);
  drop_ropes(config, spec);
  read_windows(config, spec);
  if (!config.has("layer_types")) {
    for (BlockFacts& block : spec.blocks) block.window = block.rope < 0 ? block.window : 0;
  }
  read_biases(config, spec);
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = read_llama_gguf(file);
  // The file does not say; its own engine always takes every fourth.
  for (size_t i = 3; i < spec.blocks.size(); i += 4) spec.blocks[i].rope = -1;
  read_biases(file, spec);
  return spec;
}

constexpr auto kWeights =
    join(names::kEnds, names::kPreNorms, names::attention(Layout::kRotaryRows), names::kGatedMlp);

}  // namespace

const Family kSmolLm3{"smollm3", "smollm3", read_config,         read_gguf,
                      kWeights,  "model.",  "SmolLM3ForCausalLM"};

}  // namespace sinkscope::model
