// Gemma: a llama block with a gated GELU (which early files call "gelu" and mean the tanh form),
// scaled embeddings, norms that hold w - 1, a tied head.

#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/gemma_parts.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& given) {
  const io::Config config = with_defaults(given, R"({"head_dim": 256, "num_key_value_heads": 16})");
  ModelSpec spec = gemma::read_config(config);
  const Activation activation =
      read_activation(config, {"hidden_activation", "hidden_act"}, "gelu_pytorch_tanh");
  spec.activation = activation == Activation::kGelu ? Activation::kGeluTanh : activation;
  spec.causal = !config.flag({"use_bidirectional_attention"}, false);
  spec.ropes = {read_rope(config, spec.head_width)};
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) { return gemma::complete(read_llama_gguf(file)); }

constexpr auto kWeights = join(names::minus_one(names::kEnds), names::minus_one(names::kPreNorms),
                               names::attention(), names::kGatedMlp);

}  // namespace

const Family kGemma{"gemma",  "gemma",  read_config,       read_gguf,
                    kWeights, "model.", "GemmaForCausalLM"};

}  // namespace sinkscope::model
