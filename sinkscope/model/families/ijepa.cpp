// I-JEPA: ViT without class token; pooled is the mean over the patches of the final norm.

#include "sinkscope/model/families/encoder_config.h"
#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/vision_names.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& config) {
  ModelSpec spec = read_vit_config(config);
  spec.vision.class_token = false;
  spec.vision.prefix_positions = 0;
  spec.pooler = Pooler::kMean;
  return spec;
}

constexpr auto kWeights = join(names::vit_ends<"ijepa.">(), names::vit_attention<"ijepa.">(),
                               names::vit_mlp<"ijepa.">(), names::kClassifier);

}  // namespace

const Family kIjepa{.name = "ijepa",
                    .read_config = read_config,
                    .weights = kWeights,
                    .optional_prefix = "ijepa.",
                    .hub_class = "IJepaModel"};

}  // namespace sinkscope::model
