// SigLIP's image tower: no class token, tanh GELU. Needs code beyond data because it pools by
// attention from a learned query, followed by an MLP of its own.

#include "sinkscope/model/families/encoder_config.h"
#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/vision_names.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& given) {
  const io::Config config = with_defaults(inner_config(given, "vision_config"), R"({
      "hidden_size": 768, "intermediate_size": 3072,
      "num_hidden_layers": 12, "num_attention_heads": 12, "num_channels": 3, "image_size": 224,
      "patch_size": 16, "hidden_act": "gelu_pytorch_tanh", "layer_norm_eps": 1e-6})");
  ModelSpec spec = read_vit_config(config);
  spec.vision.class_token = false;
  spec.vision.prefix_positions = 0;
  spec.pooler = config.flag({"vision_use_head"}, true) ? Pooler::kProbe : Pooler::kNone;
  return spec;
}

bool probe(const ModelSpec& s, int64_t) { return s.pooler == Pooler::kProbe; }

// clang-format off
constexpr std::array<WeightName, 11> kProbe = {{
    {"probe", "vision_model.head.probe", "", Dim::kWidth, Dim::kNone, probe},
    {"probe_in", "vision_model.head.attention.in_proj_weight", "", Dim::kThreeWidth, Dim::kWidth, probe},
    {"probe_in.bias", "vision_model.head.attention.in_proj_bias", "", Dim::kThreeWidth, Dim::kNone, probe},
    {"probe_out", "vision_model.head.attention.out_proj.weight", "", Dim::kWidth, Dim::kWidth, probe},
    {"probe_out.bias", "vision_model.head.attention.out_proj.bias", "", Dim::kWidth, Dim::kNone, probe},
    {"probe_norm", "vision_model.head.layernorm.weight", "", Dim::kWidth, Dim::kNone, probe},
    {"probe_norm.bias", "vision_model.head.layernorm.bias", "", Dim::kWidth, Dim::kNone, probe},
    {"probe_up", "vision_model.head.mlp.fc1.weight", "", Dim::kMlp, Dim::kWidth, probe},
    {"probe_up.bias", "vision_model.head.mlp.fc1.bias", "", Dim::kMlp, Dim::kNone, probe},
    {"probe_down", "vision_model.head.mlp.fc2.weight", "", Dim::kWidth, Dim::kMlp, probe},
    {"probe_down.bias", "vision_model.head.mlp.fc2.bias", "", Dim::kWidth, Dim::kNone, probe},
}};
// clang-format on

constexpr auto kWeights =
    join(names::kVisionTowerEnds, names::tower_blocks<"vision_model.">(), kProbe);

constexpr std::string_view kAliases[] = {"siglip"};

}  // namespace

const Family kSiglipVisionModel{.name = "siglip_vision_model",
                                .read_config = read_config,
                                .weights = kWeights,
                                .optional_prefix = "vision_model.",
                                .hub_class = "SiglipVisionModel",
                                .aliases = kAliases};

}  // namespace sinkscope::model
