// BLOOM: ALiBi instead of positions, a layer norm after the embedding, q, k and v of a head side by
// side in one matrix, an MLP of four times the width whatever the configuration says.

#include "sinkscope/model/families/bloom_names.h"
#include "sinkscope/model/families/encoder_config.h"
#include "sinkscope/model/families/families.h"

namespace sinkscope::model {
namespace {

ModelSpec complete(ModelSpec spec) {
  spec.norm = Norm::kLayer;
  spec.positions = Positions::kAlibi;
  spec.context = 0;  // ALiBi has no limit, and converters write the width where none is said
  spec.embed_norm = true;
  spec.activation = Activation::kGeluTanh;
  spec.gated_mlp = false;
  spec.attention_bias = spec.output_bias = spec.mlp_bias = true;
  return spec;
}

ModelSpec read_config(const io::Config& config) {
  require_flag(config, "apply_residual_connection_post_layernorm", false);
  ModelSpec spec = complete(read_decoder_config(config));
  spec.mlp_width = 4 * spec.width;
  spec.norm_epsilon = config.number({"layer_norm_epsilon"}, 1e-5);
  spec.tied_head = config.flag({"tie_word_embeddings"}, true);
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = complete(read_decoder_gguf(file));
  spec.norm_epsilon = file.number("bloom.attention.layer_norm_epsilon");
  spec.tied_head = file.find("output.weight") == nullptr;
  return spec;
}

// clang-format off
constexpr std::array<WeightName, 2> kEmbedNorm = {{
    {"embed_norm", "transformer.word_embeddings_layernorm.weight", "token_embd_norm.weight", Dim::kWidth},
    {"embed_norm.bias", "transformer.word_embeddings_layernorm.bias", "token_embd_norm.bias", Dim::kWidth},
}};
// clang-format on

constexpr auto kWeights = join(names::kBloom, kEmbedNorm);

}  // namespace

const Family kBloom{"bloom",  "bloom",        read_config,       read_gguf,
                    kWeights, "transformer.", "BloomForCausalLM"};

}  // namespace sinkscope::model
