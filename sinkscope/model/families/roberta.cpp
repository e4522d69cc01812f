// RoBERTa, XLM-RoBERTa, CamemBERT: BERT whose positions start at padding id + 1. Its sequence
// classifier brings a tanh layer of its own in place of the pooler. GGUF files are read as bert.

#include <fmt/format.h>

#include "sinkscope/base/error.h"
#include "sinkscope/model/families/bert_names.h"
#include "sinkscope/model/families/encoder_config.h"
#include "sinkscope/model/families/families.h"

namespace sinkscope::model {
namespace {

ModelSpec read_config(const io::Config& config) {
  ModelSpec spec = read_bert_config(config);
  spec.position_offset = read_count(config, "pad_token_id", 1) + 1;
  spec.context -= spec.position_offset;  // the rows before it stand for padding
  if (spec.context < 1) {
    throw Error(
        ErrorKind::kBadFile, "read roberta configuration",
        fmt::format("{}: max_position_embeddings is {}, no more than pad_token_id + 1, {}",
                    config.where(), spec.context + spec.position_offset, spec.position_offset));
  }
  return spec;
}

// clang-format off
constexpr std::array<WeightName, 13> kEnds = {{
    {"pooler", "classifier.dense.weight", "", Dim::kWidth, Dim::kWidth, when::classes, Layout::kPlain, true},
    {"pooler", "roberta.pooler.dense.weight", "", Dim::kWidth, Dim::kWidth, when::masked_tokens, Layout::kPlain, true},
    {"pooler.bias", "classifier.dense.bias", "", Dim::kWidth, Dim::kNone, when::classes, Layout::kPlain, true},
    {"pooler.bias", "roberta.pooler.dense.bias", "", Dim::kWidth, Dim::kNone, when::masked_tokens, Layout::kPlain, true},
    {"head_dense", "lm_head.dense.weight", "", Dim::kWidth, Dim::kWidth, when::masked_tokens, Layout::kPlain, true},
    {"head_dense.bias", "lm_head.dense.bias", "", Dim::kWidth, Dim::kNone, when::masked_tokens, Layout::kPlain, true},
    {"head_norm", "lm_head.layer_norm.weight", "", Dim::kWidth, Dim::kNone, when::masked_tokens, Layout::kPlain, true},
    {"head_norm.bias", "lm_head.layer_norm.bias", "", Dim::kWidth, Dim::kNone, when::masked_tokens, Layout::kPlain, true},
    {"head", "lm_head.decoder.weight", "", Dim::kVocabulary, Dim::kWidth, when::masked_untied, Layout::kPlain, true},
    {"head.bias", "lm_head.bias", "", Dim::kVocabulary, Dim::kNone, when::masked_tokens, Layout::kPlain, true},
    {"head.bias", "lm_head.decoder.bias", "", Dim::kVocabulary, Dim::kNone, when::masked_tokens, Layout::kPlain, true},
    {"classifier", "classifier.out_proj.weight", "", Dim::kClasses, Dim::kWidth, when::classes, Layout::kPlain, true},
    {"classifier.bias", "classifier.out_proj.bias", "", Dim::kClasses, Dim::kNone, when::classes, Layout::kPlain, true},
}};
// clang-format on

constexpr auto kWeights = join(names::without_gguf(names::bert_embeddings<"roberta.">()),
                               names::without_gguf(names::bert_blocks<"roberta.">()), kEnds);

constexpr std::string_view kAliases[] = {"xlm-roberta", "camembert"};

}  // namespace

const Family kRoberta{"roberta", "",         read_config,    nullptr,
                      kWeights,  "roberta.", "RobertaModel", kAliases};

}  // namespace sinkscope::model
