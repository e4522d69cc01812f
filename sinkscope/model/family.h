#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sinkscope/io/config_json.h"
#include "sinkscope/io/gguf.h"
#include "sinkscope/model/model_spec.h"

namespace sinkscope::model {

/// A length in a weight's shape, by the letter of the spec.
enum class Dim { kNone, kVocabulary, kWidth, kQueries, kKeys, kQkv, kMlp, kContext };

/// When a model must have a weight.
enum class When { kAlways, kAttentionBias, kOutputBias, kMlpBias, kUntied };

/// How the file stores a weight compared with ours, [out, in] row-major.
enum class Layout {
  kPlain,
  kTransposed,  ///< [in, out] in safetensors (gpt2's Conv1D); GGUF files hold [out, in]
  kRotaryRows,  ///< GGUF of arch llama: rows of each head interleaved; see Family::gguf_interleaved
};

/// One row of a family's weight table. "{}" stands for the block.
struct WeightName {
  std::string_view ours;
  std::string_view safetensors;
  std::string_view gguf;
  Dim rows = Dim::kNone;
  Dim columns = Dim::kNone;  ///< kNone: a vector
  When when = When::kAlways;
  Layout layout = Layout::kPlain;
};

/// A model family as data: how its sizes are read, what its weights are called.
///
/// Weight names used by the forward pass: embed, positions, final_norm, head and, per block,
/// norm1, qkv or q, k, v, o, norm2, gate, up, down, each with ".bias" where it has one.
struct Family {
  std::string_view name;          ///< model_type of config.json
  std::string_view architecture;  ///< general.architecture of GGUF
  ModelSpec (*read_config)(const io::Config&) = nullptr;
  ModelSpec (*read_gguf)(const io::GgufFile&) = nullptr;
  std::span<const WeightName> weights;
  /// Hub files of the family come with and without this prefix.
  std::string_view optional_prefix = {};
  /// Entry of "architectures" that names the family where model_type is absent.
  std::string_view hub_class = {};
};

/// The one table.
std::span<const Family* const> all_families();

/// Throw kUnsupported naming the key and the families that are known.
const Family& find_family(const io::Config& config);
const Family& find_family(const io::GgufFile& file);

// ---- shared readers: the keys that every decoder has ----

/// conventions.md section 4. Refuses zero, negative and non-dividing sizes by key.
ModelSpec read_decoder_config(const io::Config& config);
/// conventions.md section 6.
ModelSpec read_decoder_gguf(const io::GgufFile& file);

/// Rotary tables from rope_theta / rope_scaling / rope_parameters (types default, linear, llama3);
/// an unknown type is kUnsupported naming it. `head_width` channels unless partial_rotary_factor.
Rope read_rope(const io::Config& config, int64_t head_width);
/// The same from {arch}.rope.* keys and the tensor rope_freqs.weight.
Rope read_rope(const io::GgufFile& file, int64_t head_width);

/// Llama-3's frequency scaling (method: case ATT-3).
double llama3_frequency(double frequency, double factor, double low, double high,
                        double original_context);

}  // namespace sinkscope::model
