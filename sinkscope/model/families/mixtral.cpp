// Mixtral: a llama block with a mixture of experts in every block; the router's softmax runs over
// all experts and the weights of the chosen are scaled to sum 1. Its GGUF files have arch llama.

#include "sinkscope/base/error.h"
#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/shared_names.h"

namespace sinkscope::model {
namespace {

void use_experts(ModelSpec& spec, const Experts& experts, const std::string& where) {
  if (experts.count == 0) {
    throw Error(ErrorKind::kBadFile, "read mixtral configuration", where + ": no experts");
  }
  spec.experts = experts;
  for (BlockFacts& block : spec.blocks) block.experts = true;
}

ModelSpec read_config(const io::Config& given) {
  const io::Config config = with_defaults(
      given, R"({"num_key_value_heads": 8, "rms_norm_eps": 1e-5, "rope_theta": 1000000.0,
                 "num_experts_per_tok": 2})");
  ModelSpec spec = read_llama_config(config);
  read_windows(config, spec);
  use_experts(spec, read_experts(config, 8), config.where());
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = read_llama_gguf(file);
  use_experts(spec, read_experts(file), file.files().front().string());
  return spec;
}

bool claims(const io::GgufFile& file) { return file.integer("llama.expert_count", 0) > 0; }

// clang-format off
constexpr std::array<WeightName, 7> kExperts = {{
    {"blocks.{}.router", "model.layers.{}.block_sparse_moe.gate.weight", "blk.{}.ffn_gate_inp.weight", Dim::kExperts, Dim::kWidth},
    {"blocks.{}.experts.gate", "model.layers.{}.block_sparse_moe.experts.{e}.w1.weight", "blk.{}.ffn_gate_exps.weight", Dim::kExpertMlp, Dim::kWidth},
    {"blocks.{}.experts.up", "model.layers.{}.block_sparse_moe.experts.{e}.w3.weight", "blk.{}.ffn_up_exps.weight", Dim::kExpertMlp, Dim::kWidth},
    {"blocks.{}.experts.down", "model.layers.{}.block_sparse_moe.experts.{e}.w2.weight", "blk.{}.ffn_down_exps.weight", Dim::kWidth, Dim::kExpertMlp},
    // Files of before April 2024.
    {"blocks.{}.experts.gate", "", "blk.{}.ffn_gate.{e}.weight", Dim::kExpertMlp, Dim::kWidth},
    {"blocks.{}.experts.up", "", "blk.{}.ffn_up.{e}.weight", Dim::kExpertMlp, Dim::kWidth},
    {"blocks.{}.experts.down", "", "blk.{}.ffn_down.{e}.weight", Dim::kWidth, Dim::kExpertMlp},
}};
// clang-format on

constexpr auto kWeights =
    join(names::kEnds, names::kPreNorms, names::attention(Layout::kRotaryRows), kExperts);

}  // namespace

const Family kMixtral{.name = "mixtral",
                      .architecture = "llama",
                      .read_config = read_config,
                      .read_gguf = read_gguf,
                      .weights = kWeights,
                      .optional_prefix = "model.",
                      .hub_class = "MixtralForCausalLM",
                      .claims = claims};

}  // namespace sinkscope::model
