// StableLM: a llama block with layer norms, rotary positions over the first quarter of each head,
// optionally a norm of its own for each head of q and k, and optionally both branches on one norm.

#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/shared_names.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& given) {
  const io::Config config = with_defaults(given, R"({"partial_rotary_factor": 0.25})");
  ModelSpec spec = read_llama_config(config);
  spec.norm = Norm::kLayer;
  spec.norm_epsilon = config.number({"layer_norm_eps"}, 1e-5);
  spec.attention_bias = config.flag({"use_qkv_bias"}, false);
  if (config.flag({"qk_layernorm"}, false)) spec.qk_norm = QkNorm::kPerHead;
  if (config.flag({"use_parallel_residual"}, false)) spec.form = BlockForm::kParallel;
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = read_decoder_gguf(file);
  spec.norm = Norm::kLayer;
  spec.norm_epsilon = file.number("stablelm.attention.layer_norm_epsilon");
  spec.tied_head = file.find("output.weight") == nullptr;
  spec.ropes = {read_rope(file, spec.head_width)};
  spec.attention_bias = file.find("blk.0.attn_q.bias") != nullptr;
  if (file.find("blk.0.attn_q_norm.weight")) spec.qk_norm = QkNorm::kPerHead;
  // use_parallel_residual is written as well, but the files' own engine goes by the tensor.
  if (!file.find("blk.0.ffn_norm.weight")) spec.form = BlockForm::kParallel;
  return spec;
}

bool sequential(const ModelSpec& spec, int64_t) { return spec.form == BlockForm::kSequential; }

// clang-format off
constexpr std::array<WeightName, 7> kNorms = {{
    {"blocks.{}.norm1", "model.layers.{}.input_layernorm.weight", "blk.{}.attn_norm.weight", Dim::kWidth},
    {"blocks.{}.norm1.bias", "model.layers.{}.input_layernorm.bias", "blk.{}.attn_norm.bias", Dim::kWidth},
    {"blocks.{}.norm2", "model.layers.{}.post_attention_layernorm.weight", "blk.{}.ffn_norm.weight", Dim::kWidth, Dim::kNone, sequential},
    {"blocks.{}.norm2.bias", "model.layers.{}.post_attention_layernorm.bias", "blk.{}.ffn_norm.bias", Dim::kWidth, Dim::kNone, sequential},
    {"final_norm.bias", "model.norm.bias", "output_norm.bias", Dim::kWidth},
    {"blocks.{}.q_norm", "model.layers.{}.self_attn.q_layernorm.norms.{h}.weight", "blk.{}.attn_q_norm.weight", Dim::kQueries, Dim::kNone, when::qk_norm},
    {"blocks.{}.k_norm", "model.layers.{}.self_attn.k_layernorm.norms.{h}.weight", "blk.{}.attn_k_norm.weight", Dim::kKeys, Dim::kNone, when::qk_norm},
}};
// clang-format on

constexpr auto kWeights = join(names::kEnds, kNorms, names::attention(), names::kGatedMlp);

}  // namespace

const Family kStableLm{"stablelm", "stablelm", read_config,          read_gguf,
                       kWeights,   "model.",   "StableLmForCausalLM"};

}  // namespace sinkscope::model
