// DINOv2: ViT with LayerScale; the largest size has a SwiGLU MLP, gate and up in one weight.

#include "sinkscope/model/families/encoder_config.h"
#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/vision_names.h"

namespace sinkscope::model {
namespace {

constexpr auto kWeights = join(names::vit_ends<"dinov2.">(), names::vit_attention<"dinov2.">(),
                               names::dinov2_mlp<"dinov2.">(), names::kWideClassifier);

}  // namespace

const Family kDinov2{.name = "dinov2",
                     .read_config = read_dinov2_config,
                     .weights = kWeights,
                     .optional_prefix = "dinov2.",
                     .hub_class = "Dinov2Model"};

}  // namespace sinkscope::model
