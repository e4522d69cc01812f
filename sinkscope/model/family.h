#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sinkscope/io/config_json.h"
#include "sinkscope/io/gguf.h"
#include "sinkscope/model/model_spec.h"

namespace sinkscope::model {

/// A length in a weight's shape, by the letters of the spec.
enum class Dim {
  kNone,
  kOne,
  kVocabulary,
  kWidth,        ///< D
  kEmbedWidth,   ///< D unless the embedding is narrower
  kQueries,      ///< H K
  kKeys,         ///< G K
  kQkv,          ///< (H + 2 G) K
  kQueriesGate,  ///< 2 H K
  kHeads,        ///< H
  kHeadWidth,    ///< K
  kMlp,          ///< F
  kGateUp,       ///< 2 F
  kExperts,      ///< E
  kExpertMlp,
  kExpertGateUp,  ///< twice kExpertMlp
  kSharedMlp,
  kPositions,  ///< context + position_offset, or the image's grid and prefix
  kTokenTypes,
  kRegisters,
  kPatchInputs,  ///< channels x patch x patch, in the file three dimensions
  kClasses,
  kTwoWidth,    ///< 2 D
  kThreeWidth,  ///< 3 D
  kPathway,     ///< P
  kOutputGate,  ///< H or H K, as the gate is per head or per channel
  kKeyGate,     ///< G or G K
  kValueGate,
  kRelative,  ///< entries of a relative position table
};

/// Whether a model has a weight, from its facts.
using Condition = bool (*)(const ModelSpec& spec, int64_t layer);

namespace when {
inline bool always(const ModelSpec&, int64_t) { return true; }
inline bool attention_bias(const ModelSpec& s, int64_t) { return s.attention_bias; }
inline bool output_bias(const ModelSpec& s, int64_t) { return s.output_bias; }
inline bool mlp_bias(const ModelSpec& s, int64_t layer) {
  return s.mlp_bias && !s.blocks[static_cast<size_t>(layer)].experts;
}
inline bool untied(const ModelSpec& s, int64_t) { return !s.tied_head; }
inline bool head_bias(const ModelSpec& s, int64_t) { return s.head_bias; }
inline bool qk_norm(const ModelSpec& s, int64_t) { return s.qk_norm != QkNorm::kNone; }
inline bool sink_logits(const ModelSpec& s, int64_t) { return s.sink_logits; }
inline bool experts(const ModelSpec& s, int64_t layer) {
  return s.blocks[static_cast<size_t>(layer)].experts;
}
inline bool dense(const ModelSpec& s, int64_t layer) { return !experts(s, layer); }
inline bool shared_expert(const ModelSpec& s, int64_t layer) {
  return experts(s, layer) && s.experts.shared_width > 0;
}
inline bool gated_mlp(const ModelSpec& s, int64_t layer) { return dense(s, layer) && s.gated_mlp; }
}  // namespace when

/// How a file stores a weight compared with ours, [out, in] row-major.
enum class Layout {
  kPlain,
  kTransposed,  ///< safetensors: [in, out] (gpt2's Conv1D); GGUF files hold [out, in]
  kRotaryRows,  ///< GGUF: rows of each head interleaved, file row 2i+j is row j K/2 + i
  kGroups,      ///< safetensors: rows of q, k, v lie together per key/value head (gpt_neox, falcon)
  kQueryGate,   ///< both: rows of each head are K of q, then K of the gate (qwen3_next)
  kMinusOne,    ///< safetensors: holds w - 1 (gemma)
  kInterleavedColumns,  ///< safetensors: [in, out], even columns gate, odd columns up (gpt_oss)
  kInterleavedVector,   ///< the same of a bias
  kTransposedExperts,   ///< safetensors: [E, in, out]
  kMxfp4,               ///< safetensors: "_blocks" [E, out, in / 32, 16] beside "_scales"
  kMxfp4Interleaved,    ///< the same, even rows gate, odd rows up
};

/// One row of a family's weight table. "{}" stands for the block, "{e}" for the expert; an expert's
/// weight without "{e}" in the file's name is one tensor with the experts as its first dimension.
/// An empty name: that format stores it under another row.
/// With "{h}" (stablelm) a vector of the heads, kQueries or kKeys, is one tensor [K] per head.
struct WeightName {
  std::string_view ours;
  std::string_view safetensors;
  std::string_view gguf;
  Dim rows = Dim::kNone;
  Dim columns = Dim::kNone;  ///< kNone: a vector
  Condition when = when::always;
  Layout layout = Layout::kPlain;
  bool optional = false;  ///< may be absent: a readout that base models are saved without
};

/// Joins parts of weight tables that several families share.
template <size_t... N>
constexpr auto join(const std::array<WeightName, N>&... parts) {
  std::array<WeightName, (N + ...)> all{};
  size_t next = 0;
  const auto append = [&](const auto& part) {
    for (const WeightName& row : part) all[next++] = row;
  };
  (append(parts), ...);
  return all;
}

/// The row of `ours` out of a shared part; does not compile where there is none.
template <size_t N>
consteval WeightName pick(const std::array<WeightName, N>& part, std::string_view ours) {
  for (const WeightName& row : part) {
    if (row.ours == ours) return row;
  }
  throw "no such row";
}

/// A model family as data: how its sizes are read, what its weights are called.
///
/// Weight names that the forward pass knows ("x.bias" beside any of them):
///   embed, embed_project, positions, first_token, token_types, embed_norm, relative_bias
///   patch, class_token, distillation_token, registers
///   per block: norm1, q, k, v or qkv, q_norm, k_norm, sinks, o, attn_norm, attn_scale,
///     output_gate, key_gate, value_gate, extra_key, extra_value,
///     path_select, path_value, path_gate, path_out,
///     norm2, gate, up or gate_up, down, mlp_norm, mlp_scale, relative_bias,
///     router, experts.gate, experts.up or experts.gate_up, experts.down,
///     shared.gate, shared.up, shared.down, shared.router
///   final_norm, head_dense, head_norm, head, head_project, classifier, classifier2, pooler,
///   pooler_norm, probe, probe_in, probe_out, probe_norm, probe_up, probe_down
struct Family {
  std::string_view name;               ///< model_type of config.json
  std::string_view architecture = {};  ///< general.architecture of GGUF; empty: none
  ModelSpec (*read_config)(const io::Config&) = nullptr;
  ModelSpec (*read_gguf)(const io::GgufFile&) = nullptr;
  std::span<const WeightName> weights = {};
  /// Hub files of the family come with and without this prefix of the table's names, or with one of
  /// `other_prefixes` in its place.
  std::string_view optional_prefix = {};
  /// Entry of "architectures" that names the family where model_type is absent.
  std::string_view hub_class = {};
  /// Other values of model_type with the same files.
  std::span<const std::string_view> aliases = {};
  std::span<const std::string_view> other_prefixes = {};
  /// Where two families share a GGUF architecture: whether the file is this one's.
  bool (*claims)(const io::GgufFile&) = nullptr;
  /// Where config.json has neither model_type nor "architectures" (timm): whether it is this one's.
  bool (*claims_config)(const io::Config&) = nullptr;
  /// The table of a second naming that safetensors files of the family occur in; theirs is a file
  /// that has the tensor of its first row.
  std::span<const WeightName> other_weights = {};
};

/// The one table.
std::span<const Family* const> all_families();

/// Whether model_type, or else architectures, names a family of the table.
bool is_known(const io::Config& config);
/// Throw kUnsupported naming the key and the families that are known.
const Family& find_family(const io::Config& config);
const Family& find_family(const io::GgufFile& file);

// ---- shared readers: the keys that every decoder has ----

/// conventions.md section 4: sizes, `blocks` and score_scale. Refuses zero, negative and
/// non-dividing sizes by key.
ModelSpec read_decoder_config(const io::Config& config);
/// conventions.md section 6.
ModelSpec read_decoder_gguf(const io::GgufFile& file);
/// The same with what llama-like families share: RMS norm, one rotary table, gated SiLU unless
/// hidden_act says otherwise, tie_word_embeddings (false).
ModelSpec read_llama_config(const io::Config& config);
ModelSpec read_llama_gguf(const io::GgufFile& file);
/// Sizes of an image encoder: image_size, patch_size, num_channels and those of its blocks.
ModelSpec read_vision_config(const io::Config& config);

/// Activation of one of `keys`; an unknown name is kUnsupported naming key and value.
Activation read_activation(const io::Config& config, io::Config::Names keys,
                           std::string_view fallback);
/// sliding_window, use_sliding_window and layer_types into spec.blocks: every block, or those that
/// layer_types calls "sliding_attention"; other types are kUnsupported. `full_every` > 0: without
/// layer_types each such block is full.
void read_windows(const io::Config& config, ModelSpec& spec, int64_t full_every = 0);
/// GGUF: {arch}.attention.sliding_window for the blocks that sliding_window_pattern or else
/// `slides` names.
void read_windows(const io::GgufFile& file, ModelSpec& spec, bool (*slides)(int64_t layer));
/// A size from 1 to 2^24 under one of `keys`, or `fallback`; else kBadFile naming key and value.
int64_t read_size(const io::Config& config, io::Config::Names keys, int64_t fallback);
/// layer_types, empty where absent. Throws kBadFile unless there is one for each block.
std::vector<std::string> read_layer_types(const io::Config& config, const ModelSpec& spec);
/// A positive finite number, or 0 where the key is absent or null; else kBadFile (case ATT-5).
double read_softcap(const io::Config& config, std::string_view key);
/// The same for a number that has a default instead.
double read_positive(const io::Config& config, std::string_view key, double fallback);

/// The configuration under `key` ("text_config") with the outer keys that it lacks. Where both have
/// a key and differ the inner one holds, and the readers of sizes put that into ModelSpec::notes.
/// `config` itself where there is no such key, so that entering twice does no harm.
io::Config inner_config(const io::Config& config, std::string_view key);
/// `config` with those keys of the JSON object `defaults` that it does not have at all; a key
/// holding null stays.
io::Config with_defaults(const io::Config& config, std::string_view defaults);

/// num_local_experts / num_experts (0: none; `count` where absent), num_experts_per_tok,
/// moe_intermediate_size / intermediate_size.
Experts read_experts(const io::Config& config, int64_t count = 0);
/// expert_count, expert_used_count, expert_feed_forward_length / feed_forward_length.
Experts read_experts(const io::GgufFile& file);
/// decoder_sparse_step and mlp_only_layers into spec.blocks, for the experts of spec.experts.
void read_sparse_blocks(const io::Config& config, ModelSpec& spec);

/// Rotary tables from rope_theta / rope_scaling / rope_parameters (types default, linear, dynamic,
/// llama3, yarn, longrope / su); an unknown type is kUnsupported naming it. `head_width` channels
/// unless partial_rotary_factor / rotary_pct. `layer_type`: the entry of a rope_parameters that is
/// nested by layer type ("full_attention").
Rope read_rope(const io::Config& config, int64_t head_width, std::string_view layer_type = {});
/// A plain one.
Rope make_rope(int64_t width, double base);
/// The same from {arch}.rope.* keys and the tensors rope_freqs.weight, rope_factors_*.weight.
Rope read_rope(const io::GgufFile& file, int64_t head_width);

/// Llama-3's frequency scaling (method: case ATT-3).
double llama3_frequency(double frequency, double factor, double low, double high,
                        double original_context);

}  // namespace sinkscope::model
