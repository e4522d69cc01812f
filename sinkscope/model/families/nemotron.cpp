// Nemotron (Minitron): layer norms with bias whose gains are stored as w - 1 (GGUF files hold w),
// an MLP of squared ReLU without gate, rotary positions over the first half of each head.

#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/shared_names.h"
#include "sinkscope/model/sizes.h"

namespace sinkscope::model {
namespace {

ModelSpec complete(ModelSpec spec) {
  spec.norm = Norm::kLayer;
  spec.gated_mlp = false;
  return spec;
}

ModelSpec read_config(const io::Config& given) {
  const io::Config config = with_defaults(given, R"({"partial_rotary_factor": 0.5})");
  ModelSpec spec = complete(read_llama_config(config));
  spec.norm_epsilon = config.number({"norm_eps"}, 1e-5);
  spec.activation = read_activation(config, {"hidden_act"}, "relu2");
  read_biases(config, spec);
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = complete(read_decoder_gguf(file));
  spec.norm_epsilon = file.number("nemotron.attention.layer_norm_epsilon");
  spec.activation = Activation::kSquaredRelu;
  spec.tied_head = file.find("output.weight") == nullptr;
  spec.ropes = {read_rope(file, spec.head_width)};
  spec.attention_bias = file.find("blk.0.attn_q.bias") != nullptr;
  spec.output_bias = file.find("blk.0.attn_output.bias") != nullptr;
  spec.mlp_bias = file.find("blk.0.ffn_up.bias") != nullptr;
  return spec;
}

// clang-format off
constexpr std::array<WeightName, 4> kPlainMlp = {{
    {"blocks.{}.up", "model.layers.{}.mlp.up_proj.weight", "blk.{}.ffn_up.weight", Dim::kMlp, Dim::kWidth},
    {"blocks.{}.up.bias", "model.layers.{}.mlp.up_proj.bias", "blk.{}.ffn_up.bias", Dim::kMlp, Dim::kNone, when::mlp_bias},
    {"blocks.{}.down", "model.layers.{}.mlp.down_proj.weight", "blk.{}.ffn_down.weight", Dim::kWidth, Dim::kMlp},
    {"blocks.{}.down.bias", "model.layers.{}.mlp.down_proj.bias", "blk.{}.ffn_down.bias", Dim::kWidth, Dim::kNone, when::mlp_bias},
}};
// clang-format on

constexpr auto kWeights = join(names::minus_one(names::kEnds), names::minus_one(names::kPreNorms),
                               names::kNormBiases, names::attention(), kPlainMlp);

}  // namespace

const Family kNemotron{"nemotron", "nemotron", read_config,          read_gguf,
                       kWeights,   "model.",   "NemotronForCausalLM"};

}  // namespace sinkscope::model
