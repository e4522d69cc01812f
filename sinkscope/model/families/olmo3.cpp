// OLMo 3: OLMo 2 with a window in all blocks but every fourth; rope_scaling concerns the blocks
// without one.

#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/olmo_parts.h"

namespace sinkscope::model {
namespace {

constexpr int64_t kFullEvery = 4;

/// The second table for the blocks with a window.
Rope read_sliding_rope(const io::Config& config, int64_t head_width) {
  const std::optional<io::Config> nested = config.child("rope_parameters");
  if (nested && nested->has("sliding_attention")) {
    return read_rope(config, head_width, "sliding_attention");
  }
  return make_rope(head_width, read_positive(config, "rope_theta", 500000));
}

ModelSpec read_config(const io::Config& given) {
  const io::Config config =
      with_defaults(given, R"({"sliding_window": 4096, "rope_theta": 500000.0})");
  ModelSpec spec = olmo::read_blocks(config);
  read_windows(config, spec, kFullEvery);
  spec.ropes = {read_rope(config, spec.head_width, "full_attention"),
                read_sliding_rope(config, spec.head_width)};
  const std::vector<std::string> types = read_layer_types(config, spec);
  for (size_t i = 0; i < spec.blocks.size(); ++i) {
    const bool full = types.empty() ? (i + 1) % kFullEvery == 0 : types[i] == "full_attention";
    spec.blocks[i].rope = full ? 0 : 1;
  }
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = olmo::read_gguf(file);
  read_windows(file, spec, [](int64_t layer) { return (layer + 1) % kFullEvery != 0; });
  spec.ropes.push_back(make_rope(spec.ropes.front().width, spec.ropes.front().base));
  for (BlockFacts& block : spec.blocks) block.rope = block.window > 0 ? 1 : 0;
  return spec;
}

}  // namespace

const Family kOlmo3{.name = "olmo3",
                    .architecture = "olmo2",
                    .read_config = read_config,
                    .read_gguf = read_gguf,
                    .weights = olmo::kWeights,
                    .optional_prefix = "model.",
                    .hub_class = "Olmo3ForCausalLM",
                    .claims = olmo::has_windows};

}  // namespace sinkscope::model
