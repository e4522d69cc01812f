// ViT-MAE, the encoder only: a ViT without pooler or classifier, run on every patch. In training
// it saw a random quarter of them; the decoder in the file is not used.

#include "sinkscope/model/families/encoder_config.h"
#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/vision_names.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& config) {
  ModelSpec spec = read_vit_config(config);
  spec.pooler = Pooler::kNone;
  spec.notes.emplace_back("all patches are visible: mask_ratio is a matter of training only");
  return spec;
}

constexpr auto kWeights =
    join(names::vit_ends<"vit.">(), names::vit_attention<"vit.">(), names::vit_mlp<"vit.">());

}  // namespace

const Family kVitMae{.name = "vit_mae",
                     .read_config = read_config,
                     .weights = kWeights,
                     .optional_prefix = "vit.",
                     .hub_class = "ViTMAEForPreTraining"};

}  // namespace sinkscope::model
