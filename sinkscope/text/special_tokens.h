#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sinkscope::text {

/// Strings that stand for one id wherever they occur in the text.
class SpecialTokens {
 public:
  struct Token {
    int32_t id = 0;
    bool strips_left = false;   ///< white space in front belongs to it and is dropped
    bool strips_right = false;  ///< the same behind it
  };
  struct Match {
    size_t begin = 0;
    size_t end = 0;  ///< both with the white space that is dropped
    int32_t id = 0;
  };

  /// Of equal strings the last one holds; an empty one is ignored.
  void add(std::string_view content, Token token);

  /// The first occurrence at or after `from`, the longest where several begin.
  std::optional<Match> find(std::string_view text, size_t from) const;

 private:
  // A trie: node and byte lead to the next node; node 0 is the root.
  static uint64_t edge(int32_t node, char byte) {
    return static_cast<uint64_t>(node) << 8 | static_cast<uint8_t>(byte);
  }
  const Token* longest_at(std::string_view text, size_t begin, size_t* end) const;

  std::unordered_map<uint64_t, int32_t> edges_;
  std::vector<std::optional<Token>> nodes_{1};
  std::array<bool, 256> begins_{};
};

}  // namespace sinkscope::text
