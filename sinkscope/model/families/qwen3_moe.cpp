// Qwen3-MoE: Qwen3 with a mixture of experts in the blocks that decoder_sparse_step and
// mlp_only_layers leave; the router's softmax runs over all experts, and norm_topk_prob decides
// whether the weights of the chosen are scaled to sum 1. GGUF has neither: all blocks, always.

#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/qwen_parts.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& given) {
  const io::Config config = with_defaults(
      given, R"({"num_key_value_heads": 4, "use_sliding_window": false, "sliding_window": 4096,
                 "num_experts_per_tok": 8, "moe_intermediate_size": 768})");
  ModelSpec spec = read_llama_config(config);
  read_windows(config, spec);  // max_window_layers is in the files, but the model ignores it
  qwen::read_biases(config, spec);
  spec.qk_norm = QkNorm::kHead;
  spec.experts = read_experts(config, 128);
  spec.experts.normalise = config.flag({"norm_topk_prob"}, false);
  read_sparse_blocks(config, spec);
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = read_llama_gguf(file);
  qwen::read_biases(file, spec);
  spec.qk_norm = QkNorm::kHead;
  spec.experts = read_experts(file);
  for (BlockFacts& block : spec.blocks) block.experts = spec.experts.count > 0;
  return spec;
}

constexpr auto kWeights = join(names::kEnds, names::kPreNorms, names::attention(),
                               names::kHeadNorms, names::kGatedMlp, names::kExperts);

}  // namespace

const Family kQwen3Moe{"qwen3_moe", "qwen3moe", read_config,          read_gguf,
                       kWeights,    "model.",   "Qwen3MoeForCausalLM"};

}  // namespace sinkscope::model
