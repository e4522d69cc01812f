// Llama 1 to 3.x, SmolLM, TinyLlama: RMS norm before each branch, rotary positions over the whole
// head, grouped keys and values, gated SiLU MLP.

#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/llama_names.h"
#include "sinkscope/model/sizes.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& config) {
  ModelSpec spec = read_llama_config(config);
  read_biases(config, spec);
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = read_llama_gguf(file);
  read_biases(file, spec);
  return spec;
}

constexpr auto kWeights =
    join(names::kEnds, names::kPreNorms, names::attention(Layout::kRotaryRows), names::kGatedMlp);

}  // namespace

const Family kLlama{"llama",  "llama",  read_config,       read_gguf,
                    kWeights, "model.", "LlamaForCausalLM"};

}  // namespace sinkscope::model
