// CLIP's text tower: causal, learned positions, quick GELU. It has no head over the vocabulary.

#include "sinkscope/model/families/encoder_config.h"
#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/vision_names.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& given) {
  const io::Config config = with_defaults(inner_config(given, "text_config"), R"({
      "vocab_size": 49408, "hidden_size": 512,
      "intermediate_size": 2048, "num_hidden_layers": 12, "num_attention_heads": 8,
      "max_position_embeddings": 77})");
  ModelSpec spec = read_decoder_config(config);
  spec.norm = Norm::kLayer;
  spec.norm_epsilon = config.number({"layer_norm_eps"}, 1e-5);
  spec.positions = Positions::kLearned;
  spec.attention_bias = spec.output_bias = spec.mlp_bias = true;
  spec.gated_mlp = false;
  spec.activation = read_activation(config, {"hidden_act"}, "quick_gelu");
  spec.pooler = Pooler::kEnd;
  spec.tied_head = false;
  // 2 is what early files name by mistake; the end is the largest id of their vocabulary.
  const int64_t end = config.integer({"eos_token_id"}, 49407);
  spec.end_id = end == 2 ? -1 : end;
  return spec;
}

// clang-format off
constexpr std::array<WeightName, 4> kEnds = {{
    {"embed", "text_model.embeddings.token_embedding.weight", "", Dim::kVocabulary, Dim::kWidth},
    {"positions", "text_model.embeddings.position_embedding.weight", "", Dim::kPositions, Dim::kWidth},
    {"final_norm", "text_model.final_layer_norm.weight", "", Dim::kWidth},
    {"final_norm.bias", "text_model.final_layer_norm.bias", "", Dim::kWidth},
}};
// clang-format on

constexpr auto kWeights = join(kEnds, names::tower_blocks<"text_model.">());

}  // namespace

const Family kClipTextModel{.name = "clip_text_model",
                            .read_config = read_config,
                            .weights = kWeights,
                            .optional_prefix = "text_model.",
                            .hub_class = "CLIPTextModel"};

}  // namespace sinkscope::model
