// Phi-1, 1.5 and 2: one layer norm feeds both parallel branches, rotary positions over a part of
// each head, biases everywhere, the head included. Old GGUF files hold q, k and v as one matrix.

#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/shared_names.h"

namespace sinkscope::model {
namespace {

ModelSpec complete(ModelSpec spec) {
  spec.norm = Norm::kLayer;
  spec.form = BlockForm::kParallel;
  spec.gated_mlp = false;
  spec.attention_bias = spec.output_bias = spec.mlp_bias = spec.head_bias = true;
  return spec;
}

ModelSpec read_config(const io::Config& given) {
  const io::Config config = with_defaults(given, R"({"partial_rotary_factor": 0.5})");
  ModelSpec spec = complete(read_decoder_config(config));
  spec.ropes = {read_rope(config, spec.head_width)};
  spec.activation = read_activation(config, {"hidden_act"}, "gelu_new");
  if (spec.mlp_width == 0) spec.mlp_width = 4 * spec.width;
  spec.norm_epsilon = config.number({"layer_norm_eps"}, 1e-5);
  spec.tied_head = config.flag({"tie_word_embeddings"}, false);
  if (config.flag({"qk_layernorm"}, false)) {
    spec.qk_norm = QkNorm::kHead;
    spec.qk_norm_bias = true;
  }
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = complete(read_decoder_gguf(file));
  spec.ropes = {read_rope(file, spec.head_width)};
  spec.activation = Activation::kGeluTanh;
  spec.norm_epsilon = file.number("phi2.attention.layer_norm_epsilon");
  spec.tied_head = file.find("output.weight") == nullptr;
  spec.fused_qkv = file.find("blk.0.attn_qkv.weight") != nullptr;
  return spec;
}

bool fused(const ModelSpec& s, int64_t) { return s.fused_qkv; }
bool split(const ModelSpec& s, int64_t) { return !s.fused_qkv; }

consteval std::array<WeightName, 6> projections() {
  std::array<WeightName, 6> rows{};
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = names::attention()[i];  // q, k and v, each with its bias
    rows[i].when = split;
  }
  return rows;
}

// clang-format off
constexpr std::array<WeightName, 19> kOthers = {{
    pick(names::kEnds, "embed"),
    pick(names::kEnds, "head"),
    {"head.bias", "lm_head.bias", "output.bias", Dim::kVocabulary, Dim::kNone, when::head_bias},
    {"final_norm", "model.final_layernorm.weight", "output_norm.weight", Dim::kWidth},
    {"final_norm.bias", "model.final_layernorm.bias", "output_norm.bias", Dim::kWidth},
    pick(names::kPreNorms, "blocks.{}.norm1"),
    pick(names::kNormBiases, "blocks.{}.norm1.bias"),
    {"blocks.{}.qkv", "", "blk.{}.attn_qkv.weight", Dim::kQkv, Dim::kWidth, fused},
    {"blocks.{}.qkv.bias", "", "blk.{}.attn_qkv.bias", Dim::kQkv, Dim::kNone, fused},
    {"blocks.{}.q_norm", "model.layers.{}.self_attn.q_layernorm.weight", "", Dim::kHeadWidth, Dim::kNone, when::qk_norm},
    {"blocks.{}.q_norm.bias", "model.layers.{}.self_attn.q_layernorm.bias", "", Dim::kHeadWidth, Dim::kNone, when::qk_norm},
    {"blocks.{}.k_norm", "model.layers.{}.self_attn.k_layernorm.weight", "", Dim::kHeadWidth, Dim::kNone, when::qk_norm},
    {"blocks.{}.k_norm.bias", "model.layers.{}.self_attn.k_layernorm.bias", "", Dim::kHeadWidth, Dim::kNone, when::qk_norm},
    {"blocks.{}.o", "model.layers.{}.self_attn.dense.weight", "blk.{}.attn_output.weight", Dim::kWidth, Dim::kQueries},
    {"blocks.{}.o.bias", "model.layers.{}.self_attn.dense.bias", "blk.{}.attn_output.bias", Dim::kWidth},
    {"blocks.{}.up", "model.layers.{}.mlp.fc1.weight", "blk.{}.ffn_up.weight", Dim::kMlp, Dim::kWidth},
    {"blocks.{}.up.bias", "model.layers.{}.mlp.fc1.bias", "blk.{}.ffn_up.bias", Dim::kMlp},
    {"blocks.{}.down", "model.layers.{}.mlp.fc2.weight", "blk.{}.ffn_down.weight", Dim::kWidth, Dim::kMlp},
    {"blocks.{}.down.bias", "model.layers.{}.mlp.fc2.bias", "blk.{}.ffn_down.bias", Dim::kWidth},
}};
// clang-format on

constexpr auto kWeights = join(projections(), kOthers);

}  // namespace

const Family kPhi{"phi", "phi2", read_config, read_gguf, kWeights, "model.", "PhiForCausalLM"};

}  // namespace sinkscope::model
