// ViT: class token, one learned position per patch, exact GELU, classifier of the class token. Its
// files occur under hub and under timm names.

#include "sinkscope/model/families/encoder_config.h"
#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/vision_names.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& config) {
  ModelSpec spec = read_vit_config(config);
  require_text(config, "pooler_act", "tanh");
  if (has_class(config, "ViTModel")) spec.pooler = Pooler::kTanhFirst;
  return spec;
}

constexpr auto kWeights =
    join(names::vit_ends<"vit.">(), names::vit_attention<"vit.">(), names::vit_mlp<"vit.">(),
         names::vit_pooler<"vit.">(), names::kClassifier);

}  // namespace

const Family kVit{.name = "vit",
                  .read_config = read_config,
                  .weights = kWeights,
                  .optional_prefix = "vit.",
                  .hub_class = "ViTForImageClassification",
                  .other_weights = names::kTimm};

}  // namespace sinkscope::model
