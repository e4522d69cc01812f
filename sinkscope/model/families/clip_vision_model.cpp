// CLIP's image tower: a norm before the first block, quick GELU, no bias on the patches. The model
// applies its final norm to the class token only, which is what it pools.

#include "sinkscope/model/families/encoder_config.h"
#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/vision_names.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& config) {
  ModelSpec spec = read_vit_config(with_defaults(inner_config(config, "vision_config"), R"({
      "hidden_size": 768, "intermediate_size": 3072,
      "num_hidden_layers": 12, "num_attention_heads": 12, "num_channels": 3, "image_size": 224,
      "patch_size": 32, "hidden_act": "quick_gelu", "layer_norm_eps": 1e-5})"));
  spec.embed_norm = true;
  spec.vision.patch_bias = false;
  return spec;
}

// clang-format off
constexpr std::array<WeightName, 3> kOwn = {{
    {"class_token", "vision_model.embeddings.class_embedding", "", Dim::kWidth},
    {"embed_norm", "vision_model.pre_layrnorm.weight", "", Dim::kWidth},
    {"embed_norm.bias", "vision_model.pre_layrnorm.bias", "", Dim::kWidth},
}};
// clang-format on

constexpr auto kWeights =
    join(names::kVisionTowerEnds, kOwn, names::tower_blocks<"vision_model.">());

constexpr std::string_view kAliases[] = {"clip"};

}  // namespace

const Family kClipVisionModel{.name = "clip_vision_model",
                              .read_config = read_config,
                              .weights = kWeights,
                              .optional_prefix = "vision_model.",
                              .hub_class = "CLIPVisionModel",
                              .aliases = kAliases};

}  // namespace sinkscope::model
