#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sinkscope::text {

/// The pieces that text is made of, and the bytes that each id stands for.
class Vocabulary {
 public:
  /// Ids 0 .. size-1, all empty.
  explicit Vocabulary(int64_t size) : bytes_(size) {}
  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }
  const std::string& bytes(int32_t id) const { return bytes_[id]; }
  void set_bytes(int32_t id, std::string bytes) { bytes_[id] = std::move(bytes); }

  /// Makes `id` what the merges find for `piece`; an earlier id of the same piece gives way.
  void set_piece(std::string piece, int32_t id);
  std::optional<int32_t> find(std::string_view piece) const;

  /// The id that stands for one byte where no other token does (<0x0A>).
  void set_byte_id(uint8_t byte, int32_t id);
  std::optional<int32_t> byte_id(uint8_t byte) const;
  /// Whether every byte of `text` has such an id.
  bool has_bytes(std::string_view text) const;

 private:
  std::vector<std::string> bytes_;
  std::deque<std::string> pieces_;  // a deque: the keys below point into it
  std::unordered_map<std::string_view, int32_t> ids_;
  std::unordered_map<uint8_t, int32_t> byte_ids_;
};

/// The byte that a token of the form <0x0A> stands for.
std::optional<uint8_t> byte_of_token(std::string_view token);

/// SentencePiece's spelling of a space, U+2581.
inline constexpr std::string_view kSpaceMark = "\u2581";

/// The bytes of a SentencePiece piece: U+2581 is a space.
std::string bytes_of_piece(std::string_view piece);

}  // namespace sinkscope::text
