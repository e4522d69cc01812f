#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sinkscope/diagnostics/diagnostic.h"
#include "sinkscope/store/store.h"

namespace sinkscope::store {

/// What two runs must share to share a store (keys: docs/store.md). `device` is a kind: "cpu" or
/// "cuda", not a number, so that a run may continue on another card.
struct RunIdentity {
  std::string model_sha256, model_family;
  std::string revision;  ///< of the model, where it has one
  int64_t step = 0;      ///< training step of a checkpoint; 0: not a checkpoint
  std::string dtype = "f32";
  std::string device = "cpu";
  std::string inputs_kind = "text";  ///< "text", "tokens", "images", "pixels"
  std::string inputs_sha256;         ///< of the token ids or pixels, in order
  int64_t sequences = 0;             ///< how many the whole run has
  int64_t seq_len = 64;
  std::string bos = "auto";
  std::string layers, heads;  ///< as given to --layers, --heads; empty: all
  std::vector<std::string> diagnostics;
  uint64_t seed = 0;
  diagnostics::Thresholds thresholds;  ///< min_queries: the effective value
};

Facts to_facts(const RunIdentity& identity);
/// Absent keys keep the defaults above. Throws kBadFile naming key and value when one has the
/// wrong type.
RunIdentity read_identity(const Facts& facts);

/// What may differ between two runs of the same command, and what is known of the model.
struct RunFacts {
  std::string tool_name = "sinkscope", tool_version, tool_git;

  std::string model_path, model_format;  ///< "gguf", "safetensors"
  std::string model_weights;             ///< types in the file: "F32", "Q4_1 181, Q8_0 31, F32 61"
  int64_t layers = 0, heads = 0, kv_heads = 0, head_dim = 0, d_model = 0, vocab = 0;
  int64_t parameters = 0;
  bool causal = true;

  int64_t skipped = 0;            ///< inputs left out because they are too short
  std::optional<int32_t> bos_id;  ///< absent where the files name none
  std::vector<int32_t> first_tokens;
  /// labels[id]: one per token of the sequence `id`; may end before the last sequence, so that a
  /// long run stores only the labels that are shown.
  std::vector<std::vector<std::string>> labels;
  /// Patches of every image; 0 for texts and where images have different grids.
  int64_t patch_rows = 0, patch_columns = 0;
  /// Tokens in front of the patches (class token, registers); 0 for texts.
  int64_t prefix_tokens = 0;

  std::vector<std::string> warnings;
  double load_s = diagnostics::kNoData, forward_s = diagnostics::kNoData;
  double tokens_per_s = diagnostics::kNoData, peak_rss_mb = diagnostics::kNoData;
};

Facts to_facts(const RunFacts& facts);
/// put_fact for each of to_facts.
void put_facts(Store& store, const RunFacts& facts);
/// As read_identity; a number that is null in the store reads as kNoData.
RunFacts read_facts(const Facts& facts);

}  // namespace sinkscope::store
