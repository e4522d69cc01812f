// Mistral: a llama block without biases, with a sliding window in every block unless the
// configuration says null. Its GGUF files have arch llama and are read by that family.

#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/shared_names.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& given) {
  const io::Config config = with_defaults(inner_config(given, "text_config"),
                                          R"({"num_key_value_heads": 8, "sliding_window": 4096})");
  ModelSpec spec = read_llama_config(config);
  read_windows(config, spec);
  return spec;
}

constexpr auto kWeights =
    join(names::kEnds, names::kPreNorms, names::attention(), names::kGatedMlp);

}  // namespace

const Family kMistral{.name = "mistral",
                      .architecture = {},
                      .read_config = read_config,
                      .weights = kWeights,
                      .optional_prefix = "model.",
                      .hub_class = "MistralForCausalLM",
                      .other_prefixes = names::kNestedPrefixes};

}  // namespace sinkscope::model
