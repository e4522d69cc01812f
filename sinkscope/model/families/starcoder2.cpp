// StarCoder2: llama's names and attention, but layer norms with bias, an MLP without gate and,
// unless use_bias says otherwise, biases on every projection.

#include "sinkscope/model/families/encoder_config.h"
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

ModelSpec read_config(const io::Config& config) {
  require_text(config, "norm_type", "layer_norm");
  require_text(config, "mlp_type", "default");
  ModelSpec spec = complete(read_decoder_config(config));
  spec.ropes = {read_rope(config, spec.head_width)};
  read_windows(config, spec);
  spec.activation = read_activation(config, {"hidden_act"}, "gelu_pytorch_tanh");
  if (spec.mlp_width == 0) spec.mlp_width = 4 * spec.width;
  spec.norm_epsilon = config.number({"norm_epsilon"}, 1e-5);
  spec.attention_bias = spec.output_bias = spec.mlp_bias = config.flag({"use_bias"}, true);
  spec.tied_head = config.flag({"tie_word_embeddings"}, true);
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = complete(read_decoder_gguf(file));
  spec.ropes = {read_rope(file, spec.head_width)};
  read_windows(file, spec, [](int64_t) { return true; });
  spec.activation = Activation::kGeluTanh;
  spec.norm_epsilon = file.number("starcoder2.attention.layer_norm_epsilon");
  read_biases(file, spec);
  spec.tied_head = file.find("output.weight") == nullptr;
  return spec;
}

// clang-format off
constexpr std::array<WeightName, 4> kMlp = {{
    {"blocks.{}.up", "model.layers.{}.mlp.c_fc.weight", "blk.{}.ffn_up.weight", Dim::kMlp, Dim::kWidth},
    {"blocks.{}.up.bias", "model.layers.{}.mlp.c_fc.bias", "blk.{}.ffn_up.bias", Dim::kMlp, Dim::kNone, when::mlp_bias},
    {"blocks.{}.down", "model.layers.{}.mlp.c_proj.weight", "blk.{}.ffn_down.weight", Dim::kWidth, Dim::kMlp},
    {"blocks.{}.down.bias", "model.layers.{}.mlp.c_proj.bias", "blk.{}.ffn_down.bias", Dim::kWidth, Dim::kNone, when::mlp_bias},
}};
// clang-format on

constexpr auto kWeights =
    join(names::kEnds, names::kPreNorms, names::kNormBiases, names::attention(), kMlp);

}  // namespace

const Family kStarcoder2{"starcoder2", "starcoder2",           read_config, read_gguf, kWeights,
                         "model.",     "Starcoder2ForCausalLM"};

}  // namespace sinkscope::model
