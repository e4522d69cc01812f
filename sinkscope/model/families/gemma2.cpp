// Gemma 2: Gemma with norms at both ends of each branch, soft caps on scores and logits, a score
// scale of its own, and a window in every other block, the first included.

#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/gemma_parts.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& given) {
  const io::Config config =
      with_defaults(given, R"({"head_dim": 256, "num_key_value_heads": 4, "sliding_window": 4096,
                 "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0})");
  ModelSpec spec = gemma::read_config(config);
  gemma::read_later_keys(config, spec);
  read_windows(config, spec, 2);
  spec.ropes = {read_rope(config, spec.head_width)};
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = gemma::complete(read_llama_gguf(file));
  spec.score_scale = gemma::score_scale(spec, 46);
  spec.score_softcap = gemma::gguf_softcap(file, "gemma2.attn_logit_softcapping", 50);
  spec.logit_softcap = gemma::gguf_softcap(file, "gemma2.final_logit_softcapping", 30);
  spec.branch_norms = true;
  read_windows(file, spec, [](int64_t layer) { return layer % 2 == 0; });
  if (!file.has("gemma2.attention.sliding_window")) {  // the first converted files
    for (size_t i = 0; i < spec.blocks.size(); i += 2) spec.blocks[i].window = 4096;
  }
  return spec;
}

constexpr auto kWeights =
    join(names::minus_one(names::kEnds), names::minus_one(gemma::kPreNorms), names::attention(),
         names::minus_one(names::kBranchNorms), names::kGatedMlp);

}  // namespace

const Family kGemma2{"gemma2", "gemma2", read_config,        read_gguf,
                     kWeights, "model.", "Gemma2ForCausalLM"};

}  // namespace sinkscope::model
