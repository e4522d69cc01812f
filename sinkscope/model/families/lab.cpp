// The small models that `train` makes (docs/training.md): a pre-norm transformer with layer norms
// and learned positions whose attention is put together from the variants of method.md section 17.
// Its input may be rows of numbers instead of ids, its blocks attention alone. Every fact stands in
// config.json, so no recipe is a family of its own.

#include "sinkscope/model/families/lab.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sinkscope/base/error.h"
#include "sinkscope/io/printable.h"
#include "sinkscope/model/families/encoder_config.h"
#include "sinkscope/model/families/families.h"
#include "sinkscope/model/sizes.h"

namespace sinkscope::model {
namespace {

template <class Value>
struct Word {
  std::string_view name;
  Value value;
};
constexpr Word<Positions> kPositionWords[] = {{"none", Positions::kNone},
                                              {"embedding", Positions::kLearned},
                                              {"first_norm", Positions::kFirstNorm}};
constexpr Word<ScoreKind> kScoreWords[] = {{"softmax", ScoreKind::kSoftmax},
                                           {"clipped", ScoreKind::kClipped},
                                           {"sigmoid", ScoreKind::kSigmoid},
                                           {"relu", ScoreKind::kRelu}};
constexpr Word<Gate> kGateWords[] = {
    {"none", Gate::kNone}, {"headwise", Gate::kHeadwise}, {"elementwise", Gate::kElementwise}};
constexpr Word<Activation> kActivationWords[] = {{"gelu", Activation::kGelu},
                                                 {"relu", Activation::kRelu}};

template <class Value, size_t N>
Value read_word(const io::Config& config, std::string_view key, const Word<Value> (&words)[N]) {
  const std::string text = config.text({key}, words[0].name);
  std::string known;
  for (const Word<Value>& word : words) {
    if (word.name == text) return word.value;
    known += (known.empty() ? "" : ", ") + std::string(word.name);
  }
  throw Error(ErrorKind::kUnsupported, "read lab configuration",
              fmt::format("{}: {} is \"{}\"", config.where(), key, io::printable(text)), known);
}

template <class Value, size_t N>
std::string_view word_of(Value value, const Word<Value> (&words)[N]) {
  return std::find_if(std::begin(words), std::end(words),
                      [&](const auto& word) { return word.value == value; })
      ->name;
}

ScoreForm read_scores(const io::Config& config) {
  ScoreForm form;
  form.kind = read_word(config, "attention_scores", kScoreWords);
  form.stretch_low = config.number({"score_gamma"}, 0);
  form.stretch_high = config.number({"score_zeta"}, 1);
  form.bias = config.number({"score_bias"}, 0);
  if (form.stretch_low <= 0 && form.stretch_high >= 1) return form;
  throw Error(ErrorKind::kBadFile, "read lab configuration",
              fmt::format("{}: score_gamma {} and score_zeta {}: at most 0 and at least 1",
                          config.where(), form.stretch_low, form.stretch_high));
}

[[noreturn]] void refuse(const io::Config& config, const char* what, const char* why) {
  throw Error(ErrorKind::kUnsupported, "read lab configuration", config.where() + ": " + what, why);
}

/// Parts that do not go together.
void check_parts(const io::Config& config, const ModelSpec& spec) {
  const bool softmax =
      spec.scores.kind == ScoreKind::kSoftmax || spec.scores.kind == ScoreKind::kClipped;
  if (!softmax && (spec.sink_logits || spec.extra_key)) {
    refuse(config, "sink_logits or extra_key beside scores of no softmax",
           "they join the keys of a softmax");
  }
  if (spec.sink_logits && spec.extra_key) {
    refuse(config, "both sink_logits and extra_key", "each is a share on no token: choose one");
  }
  if (spec.extra_value && !spec.extra_key) {
    refuse(config, "extra_value without extra_key", "nothing would attend to it");
  }
  if (spec.pathway > 0 && spec.causal) {
    refuse(config, "global_pathway in a causal model",
           "the pathway gathers from all tokens, also later ones");
  }
}

ModelSpec read_config(const io::Config& config) {
  // A model of vectors has no vocabulary; read_decoder_config asks for one.
  const bool vectors = read_count(config, "vocab_size", 0) == 0;
  const io::Config sizes = vectors ? io::Config::parse(
                                         [&] {
                                           nlohmann::json with = config.json();
                                           with["vocab_size"] = 1;
                                           return with.dump();
                                         }(),
                                         config.where())
                                   : config;
  ModelSpec spec = read_decoder_config(sizes);
  spec.vectors = vectors;
  if (vectors) spec.vocabulary = 0;
  check_size(spec.context, config.where(), "max_position_embeddings");
  spec.causal = config.flag({"causal"}, true);
  spec.norm = Norm::kLayer;
  spec.norm_epsilon = config.number({"layer_norm_eps"}, 1e-5);
  spec.embed_norm = config.flag({"embed_norm"}, false);
  spec.branch_input_norms = config.flag({"block_norms"}, true);
  spec.final_norm = config.flag({"final_norm"}, false);
  spec.positions = read_word(config, "positions", kPositionWords);
  spec.first_token = config.flag({"first_token"}, false);
  spec.scores = read_scores(config);
  spec.sink_logits = config.flag({"sink_logits"}, false);
  spec.extra_key = config.flag({"extra_key"}, false);
  spec.extra_value = config.flag({"extra_value"}, false);
  spec.output_gate = read_word(config, "output_gate", kGateWords);
  spec.key_gate = read_word(config, "key_gate", kGateWords);
  spec.value_gate = read_word(config, "value_gate", kGateWords);
  spec.pathway = read_count(config, "global_pathway", 0);
  spec.split_channels = read_count(config, "force_sink", 0);
  spec.mlp = spec.mlp_width > 0;
  spec.mlp_bias = spec.mlp;
  spec.gated_mlp = false;
  spec.activation = read_word(config, "hidden_act", kActivationWords);
  check_parts(config, spec);
  if (spec.split_channels >= spec.width) {
    throw Error(ErrorKind::kBadFile, "read lab configuration",
                fmt::format("{}: force_sink {} of {} channels", config.where(), spec.split_channels,
                            spec.width));
  }
  return spec;
}

bool of_ids(const ModelSpec& s, int64_t) { return !s.vectors; }
bool has_positions(const ModelSpec& s, int64_t) { return s.positions != Positions::kNone; }
bool first_token(const ModelSpec& s, int64_t) { return s.first_token; }
bool embed_norm(const ModelSpec& s, int64_t) { return s.embed_norm; }
bool block_norms(const ModelSpec& s, int64_t) { return s.branch_input_norms; }
bool mlp(const ModelSpec& s, int64_t) { return s.mlp; }
bool mlp_norm(const ModelSpec& s, int64_t) { return s.mlp && s.branch_input_norms; }
bool final_norm(const ModelSpec& s, int64_t) { return s.final_norm; }
bool extra_key(const ModelSpec& s, int64_t) { return s.extra_key; }
bool extra_value(const ModelSpec& s, int64_t) { return s.extra_key && s.extra_value; }
bool output_gate(const ModelSpec& s, int64_t) { return s.output_gate != Gate::kNone; }
bool key_gate(const ModelSpec& s, int64_t) { return s.key_gate != Gate::kNone; }
bool value_gate(const ModelSpec& s, int64_t) { return s.value_gate != Gate::kNone; }
bool pathway(const ModelSpec& s, int64_t) { return s.pathway > 0; }

// clang-format off
constexpr WeightName kWeights[] = {
    {"embed", "embed.weight", "", Dim::kVocabulary, Dim::kWidth, of_ids},
    {"positions", "positions.weight", "", Dim::kPositions, Dim::kWidth, has_positions},
    {"first_token", "first_token", "", Dim::kWidth, Dim::kNone, first_token},
    {"embed_norm", "embed_norm.weight", "", Dim::kWidth, Dim::kNone, embed_norm},
    {"embed_norm.bias", "embed_norm.bias", "", Dim::kWidth, Dim::kNone, embed_norm},
    {"blocks.{}.norm1", "blocks.{}.norm1.weight", "", Dim::kWidth, Dim::kNone, block_norms},
    {"blocks.{}.norm1.bias", "blocks.{}.norm1.bias", "", Dim::kWidth, Dim::kNone, block_norms},
    {"blocks.{}.qkv", "blocks.{}.attn.qkv.weight", "", Dim::kQkv, Dim::kWidth},
    {"blocks.{}.o", "blocks.{}.attn.o.weight", "", Dim::kWidth, Dim::kQueries},
    {"blocks.{}.sinks", "blocks.{}.attn.sinks", "", Dim::kHeads, Dim::kNone, when::sink_logits},
    {"blocks.{}.extra_key", "blocks.{}.attn.extra_key", "", Dim::kKeys, Dim::kNone, extra_key},
    {"blocks.{}.extra_value", "blocks.{}.attn.extra_value", "", Dim::kKeys, Dim::kNone, extra_value},
    {"blocks.{}.output_gate", "blocks.{}.attn.output_gate.weight", "", Dim::kOutputGate, Dim::kWidth, output_gate},
    {"blocks.{}.output_gate.bias", "blocks.{}.attn.output_gate.bias", "", Dim::kOutputGate, Dim::kNone, output_gate},
    {"blocks.{}.key_gate", "blocks.{}.attn.key_gate.weight", "", Dim::kKeyGate, Dim::kWidth, key_gate},
    {"blocks.{}.key_gate.bias", "blocks.{}.attn.key_gate.bias", "", Dim::kKeyGate, Dim::kNone, key_gate},
    {"blocks.{}.value_gate", "blocks.{}.attn.value_gate.weight", "", Dim::kValueGate, Dim::kWidth, value_gate},
    {"blocks.{}.value_gate.bias", "blocks.{}.attn.value_gate.bias", "", Dim::kValueGate, Dim::kNone, value_gate},
    {"blocks.{}.path_select", "blocks.{}.pathway.select.weight", "", Dim::kOne, Dim::kWidth, pathway},
    {"blocks.{}.path_value", "blocks.{}.pathway.value.weight", "", Dim::kPathway, Dim::kWidth, pathway},
    {"blocks.{}.path_gate", "blocks.{}.pathway.gate.weight", "", Dim::kOne, Dim::kWidth, pathway},
    {"blocks.{}.path_gate.bias", "blocks.{}.pathway.gate.bias", "", Dim::kOne, Dim::kNone, pathway},
    {"blocks.{}.path_out", "blocks.{}.pathway.out.weight", "", Dim::kWidth, Dim::kPathway, pathway},
    {"blocks.{}.norm2", "blocks.{}.norm2.weight", "", Dim::kWidth, Dim::kNone, mlp_norm},
    {"blocks.{}.norm2.bias", "blocks.{}.norm2.bias", "", Dim::kWidth, Dim::kNone, mlp_norm},
    {"blocks.{}.up", "blocks.{}.mlp.up.weight", "", Dim::kMlp, Dim::kWidth, mlp},
    {"blocks.{}.up.bias", "blocks.{}.mlp.up.bias", "", Dim::kMlp, Dim::kNone, mlp},
    {"blocks.{}.down", "blocks.{}.mlp.down.weight", "", Dim::kWidth, Dim::kMlp, mlp},
    {"blocks.{}.down.bias", "blocks.{}.mlp.down.bias", "", Dim::kWidth, Dim::kNone, mlp},
    {"final_norm", "final_norm.weight", "", Dim::kWidth, Dim::kNone, final_norm},
    {"final_norm.bias", "final_norm.bias", "", Dim::kWidth, Dim::kNone, final_norm},
    {"head", "head.weight", "", Dim::kVocabulary, Dim::kWidth, of_ids},
};
// clang-format on

}  // namespace

nlohmann::ordered_json lab_config(const ModelSpec& spec) {
  return {{"model_type", kLabType},
          {"hidden_size", spec.width},
          {"num_hidden_layers", spec.layers},
          {"num_attention_heads", spec.heads},
          {"num_key_value_heads", spec.kv_heads},
          {"head_dim", spec.head_width},
          {"intermediate_size", spec.mlp_width},
          {"vocab_size", spec.vocabulary},
          {"max_position_embeddings", spec.context},
          {"causal", spec.causal},
          {"layer_norm_eps", spec.norm_epsilon},
          {"embed_norm", spec.embed_norm},
          {"block_norms", spec.branch_input_norms},
          {"final_norm", spec.final_norm},
          {"hidden_act", word_of(spec.activation, kActivationWords)},
          {"positions", word_of(spec.positions, kPositionWords)},
          {"first_token", spec.first_token},
          {"attention_scores", word_of(spec.scores.kind, kScoreWords)},
          {"score_gamma", spec.scores.stretch_low},
          {"score_zeta", spec.scores.stretch_high},
          {"score_bias", spec.scores.bias},
          {"sink_logits", spec.sink_logits},
          {"extra_key", spec.extra_key},
          {"extra_value", spec.extra_value},
          {"output_gate", word_of(spec.output_gate, kGateWords)},
          {"key_gate", word_of(spec.key_gate, kGateWords)},
          {"value_gate", word_of(spec.value_gate, kGateWords)},
          {"global_pathway", spec.pathway},
          {"force_sink", spec.split_channels}};
}

const Family kLab{.name = kLabType,
                  .read_config = read_config,
                  .weights = kWeights,
                  .hub_class = "SinkscopeLabModel"};

}  // namespace sinkscope::model
