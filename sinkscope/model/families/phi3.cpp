// Phi-3, 3.5 and 4: a llama block with q, k, v in one matrix and gate, up in another; long contexts
// by longrope, which early files call "su" or "yarn". A window, where given, holds in every block.

#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/llama_names.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& given) {
  const io::Config config = with_defaults(given, R"({"original_max_position_embeddings": 4096})");
  ModelSpec spec = read_llama_config(config);
  spec.norm_epsilon = config.number({"rms_norm_eps"}, 1e-5);
  read_windows(config, spec);
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = read_llama_gguf(file);
  read_windows(file, spec, [](int64_t) { return true; });
  return spec;
}

// clang-format off
constexpr std::array<WeightName, 4> kBlock = {{
    {"blocks.{}.qkv", "model.layers.{}.self_attn.qkv_proj.weight", "blk.{}.attn_qkv.weight", Dim::kQkv, Dim::kWidth},
    pick(names::attention(), "blocks.{}.o"),
    {"blocks.{}.gate_up", "model.layers.{}.mlp.gate_up_proj.weight", "blk.{}.ffn_up.weight", Dim::kGateUp, Dim::kWidth},
    pick(names::kGatedMlp, "blocks.{}.down"),
}};
// clang-format on

constexpr auto kWeights = join(names::kEnds, names::kPreNorms, kBlock);

}  // namespace

const Family kPhi3{"phi3", "phi3", read_config, read_gguf, kWeights, "model.", "Phi3ForCausalLM"};

}  // namespace sinkscope::model
