// OLMo 1: a llama block whose norms are layer norms without parameters, and whose q, k and v are
// clamped where clip_qkv says so.

#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/shared_names.h"
#include "sinkscope/model/sizes.h"

namespace sinkscope::model {
namespace {

ModelSpec complete(ModelSpec spec) {
  spec.norm = Norm::kLayer;
  spec.plain_norms = true;
  return spec;
}

ModelSpec read_config(const io::Config& config) {
  ModelSpec spec = complete(read_llama_config(config));
  spec.norm_epsilon = 1e-5;  // no configuration key says so
  spec.attention_bias = spec.output_bias = config.flag({"attention_bias"}, false);
  if (config.has("clip_qkv")) spec.qkv_clip = read_positive(config, "clip_qkv", 0);
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  const std::string clip = "olmo.attention.clamp_kqv";
  ModelSpec spec = complete(read_decoder_gguf(file));
  spec.norm_epsilon = file.number("olmo.attention.layer_norm_epsilon");
  spec.tied_head = file.find("output.weight") == nullptr;
  spec.ropes = {read_rope(file, spec.head_width)};
  spec.qkv_clip = file.number(clip, 0);
  if (spec.qkv_clip != 0) check_positive(spec.qkv_clip, file.files().front().string(), clip);
  return spec;
}

// clang-format off
constexpr std::array<WeightName, 2> kOlmoEnds = {{
    {"embed", "model.embed_tokens.weight", "token_embd.weight", Dim::kVocabulary, Dim::kWidth},
    {"head", "lm_head.weight", "output.weight", Dim::kVocabulary, Dim::kWidth, when::untied},
}};
// clang-format on

constexpr auto kWeights = join(kOlmoEnds, names::attention(Layout::kRotaryRows), names::kGatedMlp);

}  // namespace

const Family kOlmo{"olmo", "olmo", read_config, read_gguf, kWeights, "model.", "OlmoForCausalLM"};

}  // namespace sinkscope::model
