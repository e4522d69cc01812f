// OPT and Galactica: learned positions whose table begins with two unused rows; layer norms before
// the branches, or after them (opt-350m, without final norm); an embedding that may be narrower
// than the stream, projected in and out. llama.cpp has no such architecture.

#include "sinkscope/model/families/families.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& config) {
  ModelSpec spec = read_decoder_config(config);
  const bool norm_first = config.flag({"do_layer_norm_before"}, true);
  spec.norm = Norm::kLayer;  // its epsilon is no key
  spec.plain_norms = !config.flag({"layer_norm_elementwise_affine"}, true);
  spec.form = norm_first ? BlockForm::kSequential : BlockForm::kPostNorm;
  spec.final_norm = norm_first && !config.flag({"_remove_final_layer_norm"}, false);
  spec.positions = Positions::kLearned;
  spec.position_offset = 2;
  const int64_t embed_width = read_size(config, {"word_embed_proj_dim"}, spec.width);
  if (embed_width != spec.width) spec.embed_width = embed_width;
  spec.activation = read_activation(config, {"activation_function"}, "relu");
  spec.gated_mlp = false;
  if (spec.mlp_width == 0) spec.mlp_width = 4 * spec.width;
  spec.attention_bias = spec.output_bias = spec.mlp_bias = config.flag({"enable_bias"}, true);
  spec.tied_head = config.flag({"tie_word_embeddings"}, true);
  return spec;
}

bool projected(const ModelSpec& s, int64_t) { return s.embed_width > 0; }
bool norms(const ModelSpec& s, int64_t) { return !s.plain_norms; }
bool final_norm(const ModelSpec& s, int64_t) { return s.final_norm && !s.plain_norms; }

// clang-format off
constexpr WeightName kWeights[] = {
    {"embed", "model.decoder.embed_tokens.weight", "", Dim::kVocabulary, Dim::kEmbedWidth},
    {"embed_project", "model.decoder.project_in.weight", "", Dim::kWidth, Dim::kEmbedWidth, projected},
    {"positions", "model.decoder.embed_positions.weight", "", Dim::kPositions, Dim::kWidth},
    {"blocks.{}.norm1", "model.decoder.layers.{}.self_attn_layer_norm.weight", "", Dim::kWidth, Dim::kNone, norms},
    {"blocks.{}.norm1.bias", "model.decoder.layers.{}.self_attn_layer_norm.bias", "", Dim::kWidth, Dim::kNone, norms},
    {"blocks.{}.q", "model.decoder.layers.{}.self_attn.q_proj.weight", "", Dim::kQueries, Dim::kWidth},
    {"blocks.{}.q.bias", "model.decoder.layers.{}.self_attn.q_proj.bias", "", Dim::kQueries, Dim::kNone, when::attention_bias},
    {"blocks.{}.k", "model.decoder.layers.{}.self_attn.k_proj.weight", "", Dim::kKeys, Dim::kWidth},
    {"blocks.{}.k.bias", "model.decoder.layers.{}.self_attn.k_proj.bias", "", Dim::kKeys, Dim::kNone, when::attention_bias},
    {"blocks.{}.v", "model.decoder.layers.{}.self_attn.v_proj.weight", "", Dim::kKeys, Dim::kWidth},
    {"blocks.{}.v.bias", "model.decoder.layers.{}.self_attn.v_proj.bias", "", Dim::kKeys, Dim::kNone, when::attention_bias},
    {"blocks.{}.o", "model.decoder.layers.{}.self_attn.out_proj.weight", "", Dim::kWidth, Dim::kQueries},
    {"blocks.{}.o.bias", "model.decoder.layers.{}.self_attn.out_proj.bias", "", Dim::kWidth, Dim::kNone, when::output_bias},
    {"blocks.{}.norm2", "model.decoder.layers.{}.final_layer_norm.weight", "", Dim::kWidth, Dim::kNone, norms},
    {"blocks.{}.norm2.bias", "model.decoder.layers.{}.final_layer_norm.bias", "", Dim::kWidth, Dim::kNone, norms},
    {"blocks.{}.up", "model.decoder.layers.{}.fc1.weight", "", Dim::kMlp, Dim::kWidth},
    {"blocks.{}.up.bias", "model.decoder.layers.{}.fc1.bias", "", Dim::kMlp, Dim::kNone, when::mlp_bias},
    {"blocks.{}.down", "model.decoder.layers.{}.fc2.weight", "", Dim::kWidth, Dim::kMlp},
    {"blocks.{}.down.bias", "model.decoder.layers.{}.fc2.bias", "", Dim::kWidth, Dim::kNone, when::mlp_bias},
    {"final_norm", "model.decoder.final_layer_norm.weight", "", Dim::kWidth, Dim::kNone, final_norm},
    {"final_norm.bias", "model.decoder.final_layer_norm.bias", "", Dim::kWidth, Dim::kNone, final_norm},
    {"head_project", "model.decoder.project_out.weight", "", Dim::kEmbedWidth, Dim::kWidth, projected},
    {"head", "lm_head.weight", "", Dim::kVocabulary, Dim::kEmbedWidth, when::untied},
};
// clang-format on

}  // namespace

const Family kOpt{"opt", "", read_config, nullptr, kWeights, "model.", "OPTForCausalLM"};

}  // namespace sinkscope::model
