#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinkscope::text {

/// SentencePiece's precompiled character map: short strings and what replaces them.
///
/// Layout (sentencepiece/src/normalizer.cc): the size in bytes of a double-array trie, its units,
/// then the replacements, each ended by a zero byte; all numbers 32 bits, little endian. A unit
/// holds a label (bits 0-7, and bit 31 for a value), whether a value hangs below it (bit 8), and
/// the offset of its children (bits 10-30, shifted by 8 where bit 9 is set), see darts-clone.
class Charsmap {
 public:
  struct Hit {
    size_t length = 0;  ///< bytes of the key
    std::string_view replacement;
  };

  /// Throws kBadFile naming `where` when the sizes do not fit together.
  Charsmap(std::string bytes, const std::string& where);

  /// The shortest or longest key that `text` begins with. Throws kBadFile where the trie leads out
  /// of the map.
  std::optional<Hit> shortest(std::string_view text) const;
  std::optional<Hit> longest(std::string_view text) const;

 private:
  std::optional<Hit> find(std::string_view text, bool shortest) const;
  uint32_t unit(size_t index) const;
  std::string_view replacement(uint32_t offset) const;
  [[noreturn]] void refuse(const std::string& seen) const;

  std::string bytes_;
  std::string where_;
  size_t units_ = 0;
};

/// The bytes that base64 text stands for; nullopt where it is none.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace sinkscope::text
