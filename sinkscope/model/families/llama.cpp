// Llama 1 to 3.x, SmolLM, TinyLlama: RMS norm before each branch, rotary positions over the whole
// head, grouped keys and values, gated SiLU MLP.

#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/llama_names.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& config) {
  ModelSpec spec = read_llama_config(config);
  spec.attention_bias = config.flag({"attention_bias"}, false);
  spec.output_bias = spec.attention_bias;
  spec.mlp_bias = config.flag({"mlp_bias"}, false);
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = read_llama_gguf(file);
  // GGUF has no flag for these: a part is on when its tensor is there.
  spec.attention_bias = file.find("blk.0.attn_q.bias") != nullptr;
  spec.output_bias = file.find("blk.0.attn_output.bias") != nullptr;
  spec.mlp_bias = file.find("blk.0.ffn_down.bias") != nullptr;
  return spec;
}

constexpr auto kWeights =
    join(names::kEnds, names::kPreNorms, names::attention(Layout::kRotaryRows), names::kGatedMlp);

}  // namespace

const Family kLlama{"llama",  "llama",  read_config,       read_gguf,
                    kWeights, "model.", "LlamaForCausalLM"};

}  // namespace sinkscope::model
