// Falcon: parallel branches behind one layer norm (7B), behind one each (40B) or one after the
// other (rw); one key/value head, groups or one per head, always stored side by side with their
// queries. Rotary positions, or ALiBi in bfloat16 scaled like the scores (rw).

#include <fmt/format.h>

#include "sinkscope/base/error.h"
#include "sinkscope/model/families/bloom_names.h"
#include "sinkscope/model/families/families.h"

namespace sinkscope::model {
namespace {

ModelSpec complete(ModelSpec spec) {
  spec.norm = Norm::kLayer;
  spec.gated_mlp = false;
  return spec;
}

/// num_kv_heads counts only where the queries are grouped; elsewhere it may hold anything.
int64_t read_kv_heads(const io::Config& config, int64_t heads, bool grouped) {
  if (!grouped) return config.flag({"multi_query"}, true) ? 1 : heads;
  const int64_t kv_heads = read_size(config, {"num_kv_heads", "n_head_kv"}, heads);
  if (heads % kv_heads != 0) {
    throw Error(ErrorKind::kBadFile, "read falcon configuration",
                fmt::format("{}: num_kv_heads {} does not divide num_attention_heads {}",
                            config.where(), kv_heads, heads));
  }
  return kv_heads;
}

ModelSpec read_config(const io::Config& config) {
  ModelSpec spec = complete(read_decoder_config(config));
  const bool grouped =
      config.flag({"new_decoder_architecture"}, config.text({"model_type"}, "") == "RefinedWeb");
  spec.kv_heads = read_kv_heads(config, spec.heads, grouped);
  const bool parallel = grouped || config.flag({"parallel_attn"}, true);
  spec.form = parallel ? BlockForm::kParallel : BlockForm::kSequential;
  const int64_t norms = config.integer({"num_ln_in_parallel_attn"}, grouped ? 2 : 1);
  if (norms < 1 || norms > (grouped ? 2 : 1)) {
    throw Error(ErrorKind::kUnsupported, "read falcon configuration",
                fmt::format("{}: num_ln_in_parallel_attn is {}{}", config.where(), norms,
                            grouped ? "" : " and new_decoder_architecture is false"));
  }
  spec.parallel_norms = norms == 2;
  if (config.flag({"alibi"}, false)) {
    spec.positions = Positions::kAlibi;
    spec.alibi_rounded = true;
  } else {
    spec.ropes = {read_rope(config, spec.head_width)};
  }
  spec.activation = read_activation(config, {"activation"}, "gelu");
  spec.mlp_width = read_size(config, {"ffn_hidden_size"}, 4 * spec.width);
  spec.attention_bias = spec.output_bias = spec.mlp_bias = config.flag({"bias"}, false);
  spec.norm_epsilon = config.number({"layer_norm_epsilon"}, 1e-5);
  spec.tied_head = config.flag({"tie_word_embeddings"}, true);
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = complete(read_decoder_gguf(file));
  spec.form = BlockForm::kParallel;
  spec.parallel_norms = file.find("blk.0.attn_norm_2.weight") != nullptr;
  spec.ropes = {read_rope(file, spec.head_width)};
  spec.activation = Activation::kGelu;
  spec.norm_epsilon = file.number("falcon.attention.layer_norm_epsilon");
  spec.tied_head = file.find("output.weight") == nullptr;
  return spec;
}

bool separate_norms(const ModelSpec& s, int64_t) { return s.parallel_norms; }

// In GGUF "attn_norm" is the norm of the MLP where there are two.
// clang-format off
constexpr std::array<WeightName, 4> kParallelNorms = {{
    {"blocks.{}.norm1", "transformer.h.{}.ln_attn.weight", "blk.{}.attn_norm_2.weight", Dim::kWidth, Dim::kNone, separate_norms},
    {"blocks.{}.norm1.bias", "transformer.h.{}.ln_attn.bias", "blk.{}.attn_norm_2.bias", Dim::kWidth, Dim::kNone, separate_norms},
    {"blocks.{}.norm2", "transformer.h.{}.ln_mlp.weight", "blk.{}.attn_norm.weight", Dim::kWidth, Dim::kNone, separate_norms},
    {"blocks.{}.norm2.bias", "transformer.h.{}.ln_mlp.bias", "blk.{}.attn_norm.bias", Dim::kWidth, Dim::kNone, separate_norms},
}};
// clang-format on

constexpr auto kWeights = join(names::kBloom, kParallelNorms);
constexpr std::string_view kAliases[] = {"RefinedWeb",
                                         "RefinedWebModel"};  // before the library had it

}  // namespace

const Family kFalcon{"falcon", "falcon",       read_config,         read_gguf,
                     kWeights, "transformer.", "FalconForCausalLM", kAliases};

}  // namespace sinkscope::model
