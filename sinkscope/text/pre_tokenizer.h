#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sinkscope/text/regex.h"
#include "sinkscope/text/rewrite.h"

namespace sinkscope::text {

/// What becomes of the matches of a splitting pattern and of the text between them.
enum class SplitBehaviour {
  kIsolated,
  kRemoved,
  kMergedWithPrevious,
  kMergedWithNext,
  kContiguous
};

/// What a text was split into. Movable: the texts that pieces point into stay where they are.
struct Pieces {
  std::vector<std::string_view> list;  ///< non-empty, in order
  std::deque<std::string> rewritten;   ///< texts that rewriting steps made
};

/// Splits text into the pieces that the model encodes; each step splits or rewrites the pieces of
/// the one before. Thread-safe.
class PreTokenizer {
 public:
  struct Split {
    Regex pattern;
    SplitBehaviour behaviour = SplitBehaviour::kIsolated;
    bool invert = false;  ///< matches and the text between them change places
  };
  using Step = std::variant<Split, Rewrite>;

  void add(Split step) { steps_.emplace_back(std::move(step)); }
  void add(Rewrite step) { steps_.emplace_back(std::move(step)); }

  /// The pieces point into `text` where no step rewrites. Runs of bytes that are no UTF-8 are
  /// pieces of their own, untouched. `first`: as for Rewrite. Throws kTooLarge as check_growth
  /// does.
  Pieces split(std::string_view text, bool first = true) const;

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
