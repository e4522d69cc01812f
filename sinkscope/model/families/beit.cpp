// BEiT: ViT with LayerScale, without bias on k, with a learned bias on the scores by the patches'
// relative position: a table per block, one for all blocks, or both added. Needs code beyond data
// because the table is resampled to the image's grid.

#include "sinkscope/model/families/encoder_config.h"
#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/vision_names.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& config) {
  ModelSpec spec = read_vit_config(config);
  spec.attention_bias = true;  // no config key says so
  spec.key_bias = false;
  spec.positions = config.flag({"use_absolute_position_embeddings"}, false) ? Positions::kPatchGrid
                                                                            : Positions::kNone;
  spec.relative_bias = config.flag({"use_relative_position_bias"}, false);
  spec.shared_relative_bias = config.flag({"use_shared_relative_position_bias"}, false);
  spec.layer_scale = config.number({"layer_scale_init_value"}, 0.1) > 0;
  if (config.flag({"use_mean_pooling"}, true)) {
    spec.final_norm = false;
    spec.pooler = Pooler::kMeanNorm;
  }
  return spec;
}

namespace when_beit {
bool block_table(const ModelSpec& s, int64_t) { return s.relative_bias; }
bool shared_table(const ModelSpec& s, int64_t) { return s.shared_relative_bias; }
bool mean_norm(const ModelSpec& s, int64_t) { return s.pooler == Pooler::kMeanNorm; }
}  // namespace when_beit

// clang-format off
constexpr std::array<WeightName, 6> kOwn = {{
    {"blocks.{}.attn_scale", "beit.encoder.layer.{}.lambda_1", "", Dim::kWidth, Dim::kNone, when::layer_scale},
    {"blocks.{}.mlp_scale", "beit.encoder.layer.{}.lambda_2", "", Dim::kWidth, Dim::kNone, when::layer_scale},
    {"blocks.{}.relative_bias", "beit.encoder.layer.{}.attention.attention.relative_position_bias.relative_position_bias_table", "", Dim::kRelative, Dim::kHeads, when_beit::block_table},
    {"relative_bias", "beit.encoder.relative_position_bias.relative_position_bias_table", "", Dim::kRelative, Dim::kHeads, when_beit::shared_table},
    {"pooler_norm", "beit.pooler.layernorm.weight", "", Dim::kWidth, Dim::kNone, when_beit::mean_norm, Layout::kPlain, true},
    {"pooler_norm.bias", "beit.pooler.layernorm.bias", "", Dim::kWidth, Dim::kNone, when_beit::mean_norm, Layout::kPlain, true},
}};
// clang-format on

constexpr auto kWeights = join(names::vit_ends<"beit.">(), names::vit_attention<"beit.">(),
                               names::vit_mlp<"beit.">(), kOwn, names::kClassifier);

}  // namespace

const Family kBeit{.name = "beit",
                   .read_config = read_config,
                   .weights = kWeights,
                   .optional_prefix = "beit.",
                   .hub_class = "BeitForImageClassification"};

}  // namespace sinkscope::model
