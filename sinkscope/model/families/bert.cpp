// BERT: post-norm encoder with learned positions and token types. A GGUF file of architecture bert
// may hold any of bert, roberta (its position table without the unused rows) and distilbert (no
// token types); it never holds a head.

#include "sinkscope/base/error.h"
#include "sinkscope/model/families/bert_names.h"
#include "sinkscope/model/families/encoder_config.h"
#include "sinkscope/model/families/families.h"

namespace sinkscope::model {
namespace {

ModelSpec read_gguf(const io::GgufFile& file) {
  ModelSpec spec = read_decoder_gguf(file);
  spec.causal = file.flag("bert.attention.causal", false);
  spec.form = BlockForm::kPostNorm;
  spec.norm = Norm::kLayer;
  spec.norm_epsilon = file.number("bert.attention.layer_norm_epsilon");
  spec.final_norm = false;
  spec.positions = Positions::kLearned;
  spec.embed_norm = true;
  const io::TensorInfo* types = file.find("token_types.weight");
  spec.token_types = types && types->shape.size() == 2 ? types->shape[0] : 0;
  spec.fused_qkv = file.find("blk.0.attn_qkv.weight") != nullptr;
  spec.attention_bias = spec.output_bias = spec.mlp_bias = true;
  spec.gated_mlp = false;
  spec.activation = Activation::kGelu;  // no key says so
  spec.readout = Readout::kMaskedTokens;
  return spec;
}

// clang-format off
constexpr std::array<WeightName, 15> kOwn = {{
    {"blocks.{}.qkv", "", "blk.{}.attn_qkv.weight", Dim::kQkv, Dim::kWidth, when::fused_qkv},
    {"blocks.{}.qkv.bias", "", "blk.{}.attn_qkv.bias", Dim::kQkv, Dim::kNone, when::fused_qkv},
    {"pooler", "bert.pooler.dense.weight", "", Dim::kWidth, Dim::kWidth, when::always, Layout::kPlain, true},
    {"pooler.bias", "bert.pooler.dense.bias", "", Dim::kWidth, Dim::kNone, when::always, Layout::kPlain, true},
    {"head_dense", "cls.predictions.transform.dense.weight", "", Dim::kWidth, Dim::kWidth, when::masked_tokens, Layout::kPlain, true},
    {"head_dense.bias", "cls.predictions.transform.dense.bias", "", Dim::kWidth, Dim::kNone, when::masked_tokens, Layout::kPlain, true},
    {"head_norm", "cls.predictions.transform.LayerNorm.weight", "", Dim::kWidth, Dim::kNone, when::masked_tokens, Layout::kPlain, true},
    {"head_norm", "cls.predictions.transform.LayerNorm.gamma", "", Dim::kWidth, Dim::kNone, when::masked_tokens, Layout::kPlain, true},
    {"head_norm.bias", "cls.predictions.transform.LayerNorm.bias", "", Dim::kWidth, Dim::kNone, when::masked_tokens, Layout::kPlain, true},
    {"head_norm.bias", "cls.predictions.transform.LayerNorm.beta", "", Dim::kWidth, Dim::kNone, when::masked_tokens, Layout::kPlain, true},
    {"head", "cls.predictions.decoder.weight", "", Dim::kVocabulary, Dim::kWidth, when::masked_untied, Layout::kPlain, true},
    {"head.bias", "cls.predictions.bias", "", Dim::kVocabulary, Dim::kNone, when::masked_tokens, Layout::kPlain, true},
    {"head.bias", "cls.predictions.decoder.bias", "", Dim::kVocabulary, Dim::kNone, when::masked_tokens, Layout::kPlain, true},
    {"classifier", "classifier.weight", "", Dim::kClasses, Dim::kWidth, when::classes, Layout::kPlain, true},
    {"classifier.bias", "classifier.bias", "", Dim::kClasses, Dim::kNone, when::classes, Layout::kPlain, true},
}};
// clang-format on

constexpr auto kWeights =
    join(names::bert_embeddings<"bert.">(), names::bert_blocks<"bert.">(), kOwn);

}  // namespace

const Family kBert{"bert", "bert", read_bert_config, read_gguf, kWeights, "bert.", "BertModel"};

}  // namespace sinkscope::model
