// DistilBERT: BERT without token types and pooler, under key and weight names of its own; the norm
// epsilon is fixed. GGUF files are read as bert.

#include "sinkscope/model/families/bert_names.h"
#include "sinkscope/model/families/encoder_config.h"
#include "sinkscope/model/families/families.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& config) {
  ModelSpec spec = read_bert_config(with_names(config, {{"hidden_size", "dim"},
                                                        {"num_hidden_layers", "n_layers"},
                                                        {"num_attention_heads", "n_heads"},
                                                        {"intermediate_size", "hidden_dim"},
                                                        {"hidden_act", "activation"}}));
  spec.norm_epsilon = 1e-12;
  spec.token_types = 0;
  spec.pooler = Pooler::kNone;
  spec.readout = Readout::kMaskedTokens;
  spec.classes = 0;
  return spec;
}

// clang-format off
constexpr WeightName kWeights[] = {
    {"embed", "distilbert.embeddings.word_embeddings.weight", "", Dim::kVocabulary, Dim::kWidth},
    {"positions", "distilbert.embeddings.position_embeddings.weight", "", Dim::kPositions, Dim::kWidth},
    {"embed_norm", "distilbert.embeddings.LayerNorm.weight", "", Dim::kWidth},
    {"embed_norm.bias", "distilbert.embeddings.LayerNorm.bias", "", Dim::kWidth},
    {"blocks.{}.q", "distilbert.transformer.layer.{}.attention.q_lin.weight", "", Dim::kQueries, Dim::kWidth},
    {"blocks.{}.q.bias", "distilbert.transformer.layer.{}.attention.q_lin.bias", "", Dim::kQueries},
    {"blocks.{}.k", "distilbert.transformer.layer.{}.attention.k_lin.weight", "", Dim::kKeys, Dim::kWidth},
    {"blocks.{}.k.bias", "distilbert.transformer.layer.{}.attention.k_lin.bias", "", Dim::kKeys},
    {"blocks.{}.v", "distilbert.transformer.layer.{}.attention.v_lin.weight", "", Dim::kKeys, Dim::kWidth},
    {"blocks.{}.v.bias", "distilbert.transformer.layer.{}.attention.v_lin.bias", "", Dim::kKeys},
    {"blocks.{}.o", "distilbert.transformer.layer.{}.attention.out_lin.weight", "", Dim::kWidth, Dim::kQueries},
    {"blocks.{}.o.bias", "distilbert.transformer.layer.{}.attention.out_lin.bias", "", Dim::kWidth},
    {"blocks.{}.norm1", "distilbert.transformer.layer.{}.sa_layer_norm.weight", "", Dim::kWidth},
    {"blocks.{}.norm1.bias", "distilbert.transformer.layer.{}.sa_layer_norm.bias", "", Dim::kWidth},
    {"blocks.{}.up", "distilbert.transformer.layer.{}.ffn.lin1.weight", "", Dim::kMlp, Dim::kWidth},
    {"blocks.{}.up.bias", "distilbert.transformer.layer.{}.ffn.lin1.bias", "", Dim::kMlp},
    {"blocks.{}.down", "distilbert.transformer.layer.{}.ffn.lin2.weight", "", Dim::kWidth, Dim::kMlp},
    {"blocks.{}.down.bias", "distilbert.transformer.layer.{}.ffn.lin2.bias", "", Dim::kWidth},
    {"blocks.{}.norm2", "distilbert.transformer.layer.{}.output_layer_norm.weight", "", Dim::kWidth},
    {"blocks.{}.norm2.bias", "distilbert.transformer.layer.{}.output_layer_norm.bias", "", Dim::kWidth},
    {"head_dense", "vocab_transform.weight", "", Dim::kWidth, Dim::kWidth, when::always, Layout::kPlain, true},
    {"head_dense.bias", "vocab_transform.bias", "", Dim::kWidth, Dim::kNone, when::always, Layout::kPlain, true},
    {"head_norm", "vocab_layer_norm.weight", "", Dim::kWidth, Dim::kNone, when::always, Layout::kPlain, true},
    {"head_norm.bias", "vocab_layer_norm.bias", "", Dim::kWidth, Dim::kNone, when::always, Layout::kPlain, true},
    {"head", "vocab_projector.weight", "", Dim::kVocabulary, Dim::kWidth, when::masked_untied, Layout::kPlain, true},
    {"head.bias", "vocab_projector.bias", "", Dim::kVocabulary, Dim::kNone, when::always, Layout::kPlain, true},
};
// clang-format on

}  // namespace

const Family kDistilbert{"distilbert",     "", read_config, nullptr, kWeights, "distilbert.",
                         "DistilBertModel"};

}  // namespace sinkscope::model
