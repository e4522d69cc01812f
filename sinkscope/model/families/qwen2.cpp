// Qwen2 and Qwen2.5: a llama block with biases on q, k and v, which no configuration key says.

#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/qwen_parts.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& config) {
  ModelSpec spec = read_llama_config(config);
  qwen::read_windows(config, spec);
  spec.attention_bias = true;
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = read_llama_gguf(file);
  spec.attention_bias = true;
  return spec;
}

constexpr auto kWeights =
    join(names::kEnds, names::kPreNorms, names::attention(), names::kGatedMlp);

}  // namespace

const Family kQwen2{"qwen2",  "qwen2",  read_config,       read_gguf,
                    kWeights, "model.", "Qwen2ForCausalLM"};

}  // namespace sinkscope::model
