// DINOv3: class and register tokens, LayerScale, biases by key. Needs code beyond data because q
// and k of the patches turn by their coordinates; there is no position table.

#include <fmt/format.h>

#include <cmath>

#include "sinkscope/base/error.h"
#include "sinkscope/model/families/encoder_config.h"
#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/vision_names.h"

namespace sinkscope::model {
namespace {

Rope read_patch_rope(const io::Config& config, int64_t head_width) {
  Rope rope;
  rope.width = head_width;
  rope.base = config.number({"rope_theta"}, 100);
  if (rope.base <= 0 || head_width % 4 != 0) {
    throw Error(ErrorKind::kBadFile, "read dinov3_vit configuration",
                fmt::format("{}: rope_theta {} and heads of {}, expected a positive number and a "
                            "multiple of 4",
                            config.where(), rope.base, head_width));
  }
  const auto width = static_cast<double>(head_width);
  for (int64_t i = 0; i < head_width / 4; ++i)
    rope.inverse_frequency.push_back(std::pow(rope.base, -4 * static_cast<double>(i) / width));
  return rope;
}

ModelSpec read_config(const io::Config& config) {
  ModelSpec spec = read_vit_config(config);
  spec.vision.prefix_positions = 0;
  spec.vision.registers = read_count(config, "num_register_tokens", 0);
  spec.positions = Positions::kPatchRotary;
  spec.ropes = {read_patch_rope(config, spec.head_width)};
  spec.norm_epsilon = config.number({"layer_norm_eps"}, 1e-5);
  spec.query_bias = config.flag({"query_bias"}, true);
  spec.key_bias = config.flag({"key_bias"}, false);
  spec.value_bias = config.flag({"value_bias"}, true);
  spec.attention_bias = spec.query_bias || spec.key_bias || spec.value_bias;
  spec.output_bias = config.flag({"proj_bias"}, true);
  spec.mlp_bias = config.flag({"mlp_bias"}, true);
  spec.gated_mlp = config.flag({"use_gated_mlp"}, false);
  spec.layer_scale = true;
  return spec;
}

// clang-format off
constexpr WeightName kWeights[] = {
    {"patch", "embeddings.patch_embeddings.weight", "", Dim::kWidth, Dim::kPatchInputs},
    {"patch.bias", "embeddings.patch_embeddings.bias", "", Dim::kWidth},
    {"class_token", "embeddings.cls_token", "", Dim::kWidth},
    {"registers", "embeddings.register_tokens", "", Dim::kRegisters, Dim::kWidth, when::registers},
    {"blocks.{}.norm1", "model.layer.{}.norm1.weight", "", Dim::kWidth},
    {"blocks.{}.norm1.bias", "model.layer.{}.norm1.bias", "", Dim::kWidth},
    {"blocks.{}.q", "model.layer.{}.attention.q_proj.weight", "", Dim::kQueries, Dim::kWidth},
    {"blocks.{}.q.bias", "model.layer.{}.attention.q_proj.bias", "", Dim::kQueries, Dim::kNone, when::query_bias},
    {"blocks.{}.k", "model.layer.{}.attention.k_proj.weight", "", Dim::kKeys, Dim::kWidth},
    {"blocks.{}.k.bias", "model.layer.{}.attention.k_proj.bias", "", Dim::kKeys, Dim::kNone, when::key_bias},
    {"blocks.{}.v", "model.layer.{}.attention.v_proj.weight", "", Dim::kKeys, Dim::kWidth},
    {"blocks.{}.v.bias", "model.layer.{}.attention.v_proj.bias", "", Dim::kKeys, Dim::kNone, when::value_bias},
    {"blocks.{}.o", "model.layer.{}.attention.o_proj.weight", "", Dim::kWidth, Dim::kQueries},
    {"blocks.{}.o.bias", "model.layer.{}.attention.o_proj.bias", "", Dim::kWidth, Dim::kNone, when::output_bias},
    {"blocks.{}.attn_scale", "model.layer.{}.layer_scale1.lambda1", "", Dim::kWidth},
    {"blocks.{}.norm2", "model.layer.{}.norm2.weight", "", Dim::kWidth},
    {"blocks.{}.norm2.bias", "model.layer.{}.norm2.bias", "", Dim::kWidth},
    {"blocks.{}.gate", "model.layer.{}.mlp.gate_proj.weight", "", Dim::kMlp, Dim::kWidth, when::gated_mlp},
    {"blocks.{}.gate.bias", "model.layer.{}.mlp.gate_proj.bias", "", Dim::kMlp, Dim::kNone, when::gate_bias},
    {"blocks.{}.up", "model.layer.{}.mlp.up_proj.weight", "", Dim::kMlp, Dim::kWidth},
    {"blocks.{}.up.bias", "model.layer.{}.mlp.up_proj.bias", "", Dim::kMlp, Dim::kNone, when::mlp_bias},
    {"blocks.{}.down", "model.layer.{}.mlp.down_proj.weight", "", Dim::kWidth, Dim::kMlp},
    {"blocks.{}.down.bias", "model.layer.{}.mlp.down_proj.bias", "", Dim::kWidth, Dim::kNone, when::mlp_bias},
    {"blocks.{}.mlp_scale", "model.layer.{}.layer_scale2.lambda1", "", Dim::kWidth},
    {"final_norm", "norm.weight", "", Dim::kWidth},
    {"final_norm.bias", "norm.bias", "", Dim::kWidth},
};
// clang-format on

}  // namespace

const Family kDinov3Vit{.name = "dinov3_vit",
                        .read_config = read_config,
                        .weights = kWeights,
                        .optional_prefix = "model.",
                        .hub_class = "DINOv3ViTModel"};

}  // namespace sinkscope::model
