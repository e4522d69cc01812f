// Granite: a llama block with factors on the embedding, the scores, both branches and, as a
// divisor, the logits.

#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/llama_names.h"
#include "sinkscope/model/sizes.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& config) {
  ModelSpec spec = read_llama_config(config);
  read_biases(config, spec);
  spec.embed_scale = read_positive(config, "embedding_multiplier", 1);
  spec.score_scale = read_positive(config, "attention_multiplier", 1);
  spec.residual_scale = read_positive(config, "residual_multiplier", 1);
  spec.logit_scale = 1 / read_positive(config, "logits_scaling", 1);
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = read_llama_gguf(file);
  read_biases(file, spec);
  const auto factor = [&](const std::string& key, double fallback) {
    const double value = file.number(key, 0);
    if (value == 0) return fallback;  // also what the files' own engine takes 0 for
    check_positive(value, file.files().front().string(), key);
    return value;
  };
  spec.embed_scale = factor("granite.embedding_scale", 1);
  spec.score_scale = factor("granite.attention.scale", spec.score_scale);
  spec.residual_scale = factor("granite.residual_scale", 1);
  spec.logit_scale = 1 / factor("granite.logit_scale", 1);
  return spec;
}

constexpr auto kWeights =
    join(names::kEnds, names::kPreNorms, names::attention(Layout::kRotaryRows), names::kGatedMlp);

}  // namespace

const Family kGranite{"granite", "granite", read_config,         read_gguf,
                      kWeights,  "model.",  "GraniteForCausalLM"};

}  // namespace sinkscope::model
