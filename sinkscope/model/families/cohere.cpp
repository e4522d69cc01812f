// Cohere (Command R): one layer norm without bias feeds both branches, rotary positions turn
// neighbouring channels, the logits have a factor; the larger models norm each head of q and k with
// a gain of its own.

#include "sinkscope/base/error.h"
#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/shared_names.h"
#include "sinkscope/model/sizes.h"

namespace sinkscope::model {
namespace {

ModelSpec complete(ModelSpec spec) {
  spec.norm = Norm::kLayer;
  spec.form = BlockForm::kParallel;
  for (Rope& rope : spec.ropes) rope.interleaved = true;
  return spec;
}

ModelSpec read_config(const io::Config& given) {
  const io::Config config =
      with_defaults(given, R"({"rope_theta": 500000.0, "tie_word_embeddings": true})");
  ModelSpec spec = complete(read_llama_config(config));
  spec.norm_epsilon = config.number({"layer_norm_eps"}, 1e-5);
  spec.attention_bias = spec.output_bias = config.flag({"attention_bias"}, false);
  if (config.flag({"use_qk_norm"}, false)) spec.qk_norm = QkNorm::kPerHead;
  spec.logit_scale = read_positive(config, "logit_scale", 0.0625);
  return spec;
}

ModelSpec read_gguf(const io::GgufFile& file) {
  const std::string scale = "command-r.logit_scale";
  ModelSpec spec = read_decoder_gguf(file);
  spec.ropes = {read_rope(file, spec.head_width)};
  spec = complete(std::move(spec));
  spec.norm_epsilon = file.number("command-r.attention.layer_norm_epsilon");
  spec.tied_head = file.find("output.weight") == nullptr;
  spec.attention_bias = file.find("blk.0.attn_q.bias") != nullptr;
  spec.output_bias = file.find("blk.0.attn_output.bias") != nullptr;
  if (file.find("blk.0.attn_q_norm.weight")) spec.qk_norm = QkNorm::kPerHead;
  spec.logit_scale = file.number(scale);
  check_positive(spec.logit_scale, file.files().front().string(), scale);
  return spec;
}

/// Gains [H, K] and [G, K], in the form of vectors the same as over the whole projection.
constexpr std::array<WeightName, 2> head_norms() {
  std::array<WeightName, 2> rows = names::kFullNorms;
  for (WeightName& row : rows) row.when = when::qk_norm;
  return rows;
}

// clang-format off
constexpr std::array<WeightName, 1> kNorm = {{
    {"blocks.{}.norm1", "model.layers.{}.input_layernorm.weight", "blk.{}.attn_norm.weight", Dim::kWidth},
}};
// clang-format on

constexpr auto kWeights =
    join(names::kEnds, kNorm, names::attention(), head_norms(), names::kGatedMlp);

}  // namespace

const Family kCohere{"cohere", "command-r", read_config,        read_gguf,
                     kWeights, "model.",    "CohereForCausalLM"};

}  // namespace sinkscope::model
