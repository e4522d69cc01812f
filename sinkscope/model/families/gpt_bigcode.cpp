// StarCoder and SantaCoder's successor: gpt2's names with plain linear layers and either one
// key/value head for all queries or, per head, q, k and v side by side.

#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/gpt2_names.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& config) {
  ModelSpec spec = gpt2::read_config(config, "gelu_pytorch_tanh");
  spec.kv_heads = config.flag({"multi_query"}, true) ? 1 : spec.heads;
  return spec;
}

constexpr auto kWeights =
    names::gpt2({.qkv = Layout::kGroups, .qkv_bias = Layout::kGroups, .linear = Layout::kPlain});

}  // namespace

const Family kGptBigcode{"gpt_bigcode",          "starcoder", read_config,
                         gpt2::read_gguf,        kWeights,    "transformer.",
                         "GPTBigCodeForCausalLM"};

}  // namespace sinkscope::model
