// Gemma 3, text: Gemma 2 without soft caps, with a norm over each head of q and k; all blocks but
// every sixth have a window and rotary positions of another base. rope_scaling concerns the other
// blocks only. The files with images hold it under text_config, where sizes may be left out.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/gemma_parts.h"
#include "sinkscope/model/sizes.h"

namespace sinkscope::model {
namespace {

constexpr char kDefaults[] = R"({
    "vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
    "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
    "max_position_embeddings": 131072, "sliding_window": 4096, "rope_theta": 1000000.0})";

/// rope_local_base_freq, and the blocks' own entry in a rope_parameters nested by layer type.
Rope read_sliding_rope(const io::Config& config, int64_t head_width) {
  const double base = read_positive(config, "rope_local_base_freq", 10000);
  const std::optional<io::Config> nested = config.child("rope_parameters");
  const std::optional<io::Config> own = nested ? nested->child("sliding_attention") : std::nullopt;
  if (!own) return make_rope(head_width, base);
  return read_rope(io::Config::parse(fmt::format(R"({{"rope_theta": {}, "rope_parameters": {}}})",
                                                 base, own->json().dump()),
                                     config.where()),
                   head_width);
}

/// The second table is for the blocks with a window, whether or not that is switched off.
void set_ropes(const io::Config& config, ModelSpec& spec, int64_t full_every) {
  const std::vector<std::string> types = read_layer_types(config, spec);
  spec.ropes = {read_rope(config, spec.head_width, "full_attention"),
                read_sliding_rope(config, spec.head_width)};
  for (size_t i = 0; i < spec.blocks.size(); ++i) {
    const bool full = types.empty() ? (static_cast<int64_t>(i) + 1) % full_every == 0
                                    : types[i] == "full_attention";
    spec.blocks[i].rope = full ? 0 : 1;
  }
}

ModelSpec read_config(const io::Config& given) {
  const io::Config config = with_defaults(inner_config(given, "text_config"), kDefaults);
  ModelSpec spec = gemma::read_config(config);
  gemma::read_later_keys(config, spec);
  const int64_t full_every = check_size(config.integer({"sliding_window_pattern"}, 6),
                                        config.where(), "sliding_window_pattern");
  read_windows(config, spec, full_every);
  spec.qk_norm = QkNorm::kHead;
  set_ropes(config, spec, full_every);
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = gemma::complete(read_llama_gguf(file));
  spec.score_scale = gemma::score_scale(spec, 62);
  spec.logit_softcap = gemma::gguf_softcap(file, "gemma3.final_logit_softcapping", 0);
  spec.branch_norms = true;
  spec.qk_norm = QkNorm::kHead;
  read_windows(file, spec, [](int64_t layer) { return layer % 6 != 5; });
  const std::string key = "gemma3.rope.freq_base_swa";
  const double local = file.number(key, 10000);
  check_positive(local, file.files().front().string(), key);
  spec.ropes.push_back(make_rope(spec.ropes.front().width, local));
  for (BlockFacts& block : spec.blocks) block.rope = block.window > 0 ? 1 : 0;
  return spec;
}

constexpr auto kWeights = join(names::minus_one(names::kEnds), names::minus_one(gemma::kPreNorms),
                               names::attention(), names::minus_one(names::kHeadNorms),
                               names::minus_one(names::kBranchNorms), names::kGatedMlp);

constexpr std::string_view kAliases[] = {"gemma3"};

}  // namespace

const Family kGemma3Text{.name = "gemma3_text",
                         .architecture = "gemma3",
                         .read_config = read_config,
                         .read_gguf = read_gguf,
                         .weights = kWeights,
                         .optional_prefix = "model.",
                         .hub_class = "Gemma3ForCausalLM",
                         .aliases = kAliases,
                         .other_prefixes = names::kNestedPrefixes};

}  // namespace sinkscope::model
