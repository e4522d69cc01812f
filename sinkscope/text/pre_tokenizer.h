#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sinkscope/text/regex.h"

namespace sinkscope::text {

/// What becomes of the matches of a splitting pattern and of the text between them.
enum class SplitBehaviour {
  kIsolated,
  kRemoved,
  kMergedWithPrevious,
  kMergedWithNext,
  kContiguous
};

/// Splits text into the pieces inside which tokens are merged; each step splits the pieces of the
/// one before. Thread-safe.
class PreTokenizer {
 public:
  struct Step {
    Regex pattern;
    SplitBehaviour behaviour = SplitBehaviour::kIsolated;
    bool invert = false;  ///< matches and the text between them change places
  };

  void add(Step step) { steps_.push_back(std::move(step)); }

  /// Non-empty pieces, in order, pointing into `text`. Runs of bytes that are no UTF-8 are pieces
  /// of their own.
  std::vector<std::string_view> split(std::string_view text) const;

 private:
  std::vector<Step> steps_;
};

/// GPT-2's pattern, which ByteLevel in tokenizer.json uses too.
extern const std::string_view kGpt2Pattern;

/// What a value of `tokenizer.ggml.pre` stands for.
struct PreType {
  PreTokenizer pre_tokenizer;
  bool ignore_merges = false;  ///< a piece that is a token is taken whole
  bool adds_bos = false;       ///< where the file does not say
};

/// Throws kUnsupported for a name we have no rule for.
PreType named_pre_type(std::string_view name, const std::string& where);

}  // namespace sinkscope::text
