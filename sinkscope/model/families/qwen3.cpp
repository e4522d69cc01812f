// Qwen3: a llama block with an RMS norm over each head of q and k; heads of 128 unless head_dim
// says otherwise.

#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/qwen_parts.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& given) {
  const io::Config config = with_defaults(given, R"({"head_dim": 128})");
  ModelSpec spec = read_llama_config(config);
  qwen::read_windows(config, spec);
  qwen::read_biases(config, spec);
  spec.qk_norm = QkNorm::kHead;
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = read_llama_gguf(file);
  qwen::read_biases(file, spec);
  spec.qk_norm = QkNorm::kHead;
  return spec;
}

constexpr auto kWeights =
    join(names::kEnds, names::kPreNorms, names::attention(), names::kHeadNorms, names::kGatedMlp);

}  // namespace

const Family kQwen3{"qwen3",  "qwen3",  read_config,       read_gguf,
                    kWeights, "model.", "Qwen3ForCausalLM"};

}  // namespace sinkscope::model
