#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sinkscope::text {

/// Rewrites text before it is split: the `normalizer` part of tokenizer.json, and the space rules
/// of SentencePiece. Bytes that are no UTF-8 pass through unchanged.
class Normalizer {
 public:
  void add_nfc();
  /// Puts `prefix` in front of any text that is not empty.
  void add_prepend(std::string prefix);
  /// The same, unless the text begins with it already. `only_first`: only where the text stands at
  /// the very beginning of the input, not behind a special token.
  void add_prepend_if_missing(std::string prefix, bool only_first);
  void add_replace(std::string from, std::string to);

  bool empty() const { return steps_.empty(); }
  std::string operator()(std::string_view text, bool first) const;

 private:
  enum class Kind { kNfc, kPrepend, kPrependIfMissing, kReplace };
  struct Step {
    Kind kind;
    std::string from;
    std::string to;
    bool only_first = false;
  };
  std::vector<Step> steps_;
};

}  // namespace sinkscope::text
