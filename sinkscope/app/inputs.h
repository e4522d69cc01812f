#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sinkscope/app/options.h"
#include "sinkscope/forward/stream.h"
#include "sinkscope/model/model.h"
#include "sinkscope/store/store.h"
#include "sinkscope/text/tokenizer.h"

namespace sinkscope::app {

/// The sequences of a run and what became of the inputs.
struct Inputs {
  std::vector<store::SequenceInfo> sequences;
  std::string kind;  ///< "text", "tokens", "images" or "pixels"
  int64_t skipped =
      0;  ///< files shorter than seq_len; what a longer file has beyond whole sequences is not run
  int64_t available = 0;  ///< sequences that the inputs hold; `sequences` are max_seqs of them
  std::string sha256;     ///< of all ids with their lengths
  std::vector<std::string> warnings;
  int64_t prefix_tokens = 0;      ///< of images: the tokens before their patches
  forward::PatchGrid patch_grid;  ///< of images that all have the same; otherwise 0 x 0
  /// What runs through the model for one of the sequences; an image is read again for it.
  std::function<forward::Stream(const store::SequenceInfo&)> stream;
  /// Names of a sequence's tokens, for people.
  std::function<std::vector<std::string>(const store::SequenceInfo&)> labels;
  /// Of a task whose outputs are vectors, both empty elsewhere. Loss of the rows [N, D] that leave
  /// the last block at positions `first`...: [N] float64, NaN where none counts.
  std::function<at::Tensor(const store::SequenceInfo&, int64_t first, const at::Tensor& rows)>
      row_losses;
  /// [D] float64: the update that the task wants of every token of the sequence alike; undefined
  /// where tokens want different ones, or none.
  std::function<at::Tensor(const store::SequenceInfo&)> message;
};

/// The model's tokenizer; null when its files bring none (raw ids still work).
std::unique_ptr<text::Tokenizer> open_tokenizer(const model::Model& model);

/// Reads what the options name, texts or images as the model wants them.
Inputs read_model_inputs(const InputOptions& options, const model::Model& model,
                         const text::Tokenizer* tokenizer);

/// Reads files, prompts and ids. Throws kUsage naming the flag: nothing given, nothing left, an
/// unreadable file, ids that are no numbers or outside 0..vocabulary-1.
Inputs read_inputs(const InputOptions& options, const text::Tokenizer* tokenizer,
                   int64_t vocabulary);

text::BosRule parse_bos(const std::string& word);

/// "0-3,7" below `layers`; empty text: all of them. Throws kUsage.
std::set<int> parse_layers(const std::string& text, int layers);
/// "L5H3,L6H0-3": per layer the heads; empty text: nullopt.
std::optional<std::set<std::pair<int, int>>> parse_heads(const std::string& text, int layers,
                                                         int heads);

}  // namespace sinkscope::app
