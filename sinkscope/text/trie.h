#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sinkscope::text {

/// Byte strings with a value each, found by the text that begins with them.
class Trie {
 public:
  Trie() { root_.fill(kNone); }

  /// Of equal keys the last one holds; an empty one is ignored.
  void add(std::string_view key, int32_t value);

  /// Calls visit(length, value) for every key that `text` begins with, the shortest first.
  template <typename Visit>
  void visit_prefixes(std::string_view text, Visit visit) const {
    int32_t node = kNone;
    for (size_t i = 0; i < text.size(); ++i) {
      node = i == 0 ? root_[static_cast<uint8_t>(text[0])] : next(node, text[i]);
      if (node == kNone) return;
      if (values_[node] != kNone) visit(i + 1, values_[node]);
    }
  }

 private:
  static constexpr int32_t kNone = -1;
  static uint64_t edge(int32_t node, char byte) {
    return static_cast<uint64_t>(node) << 8 | static_cast<uint8_t>(byte);
  }
  int32_t next(int32_t node, char byte) const {
    const auto found = edges_.find(edge(node, byte));
    return found == edges_.end() ? kNone : found->second;
  }
  int32_t new_node();

  std::array<int32_t, 256> root_{};              ///< node of each first byte
  std::unordered_map<uint64_t, int32_t> edges_;  ///< node and byte lead to the next node
  std::vector<int32_t> values_;                  ///< one a node
};

}  // namespace sinkscope::text
