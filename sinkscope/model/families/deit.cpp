// DeiT: ViT with a distillation token behind the class token. With a teacher's head the logits are
// the mean of two classifiers, each of its own token. (Undistilled DeiT files say vit.)

#include "sinkscope/model/families/encoder_config.h"
#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/vision_names.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& config) {
  ModelSpec spec = read_vit_config(config);
  spec.vision.distillation_token = true;
  spec.vision.prefix_positions = 2;
  require_text(config, "pooler_act", "tanh");
  if (has_class(config, "DeiTModel")) spec.pooler = Pooler::kTanhFirst;
  return spec;
}

// clang-format off
constexpr std::array<WeightName, 5> kHeads = {{
    {"distillation_token", "deit.embeddings.distillation_token", "", Dim::kWidth},
    {"classifier", "cls_classifier.weight", "", Dim::kClasses, Dim::kWidth, when::always, Layout::kPlain, true},
    {"classifier.bias", "cls_classifier.bias", "", Dim::kClasses, Dim::kNone, when::always, Layout::kPlain, true},
    {"classifier2", "distillation_classifier.weight", "", Dim::kClasses, Dim::kWidth, when::always, Layout::kPlain, true},
    {"classifier2.bias", "distillation_classifier.bias", "", Dim::kClasses, Dim::kNone, when::always, Layout::kPlain, true},
}};
// clang-format on

constexpr auto kWeights =
    join(names::vit_ends<"deit.">(), names::vit_attention<"deit.">(), names::vit_mlp<"deit.">(),
         names::vit_pooler<"deit.">(), kHeads, names::kClassifier);

}  // namespace

const Family kDeit{.name = "deit",
                   .read_config = read_config,
                   .weights = kWeights,
                   .optional_prefix = "deit.",
                   .hub_class = "DeiTForImageClassificationWithTeacher",
                   .other_weights = names::kTimm};

}  // namespace sinkscope::model
