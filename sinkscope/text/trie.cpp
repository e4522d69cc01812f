#include "sinkscope/text/trie.h"

namespace sinkscope::text {

int32_t Trie::new_node() {
  values_.push_back(kNone);
  return static_cast<int32_t>(values_.size()) - 1;
}

void Trie::add(std::string_view key, int32_t value) {
  if (key.empty()) return;
  int32_t& first = root_[static_cast<uint8_t>(key[0])];
  if (first == kNone) first = new_node();
  int32_t node = first;
  for (const char byte : key.substr(1)) {
    const auto [edge_to, added] =
        edges_.try_emplace(edge(node, byte), static_cast<int32_t>(values_.size()));
    node = added ? new_node() : edge_to->second;
  }
  values_[node] = value;
}

}  // namespace sinkscope::text
