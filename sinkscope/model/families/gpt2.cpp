// GPT-2: layer norms with bias, learned positions, one fused [q | k | v] projection stored
// [in, out] in safetensors, GELU MLP without gate, tied head.

#include "sinkscope/base/error.h"
#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/gpt2_names.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& config) {
  ModelSpec spec = gpt2::read_config(config, "gelu_new");
  if (config.flag({"scale_attn_by_inverse_layer_idx"}, false)) {
    throw Error(ErrorKind::kUnsupported, "read gpt2 configuration",
                config.where() + ": scale_attn_by_inverse_layer_idx is true", "");
  }
  return spec;
}

constexpr auto kWeights = names::gpt2(
    {.qkv = Layout::kTransposed, .qkv_bias = Layout::kPlain, .linear = Layout::kTransposed});

}  // namespace

const Family kGpt2{"gpt2",   "gpt2",         read_config,      gpt2::read_gguf,
                   kWeights, "transformer.", "GPT2LMHeadModel"};

}  // namespace sinkscope::model
