#include "sinkscope/text/vocabulary.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace sinkscope::text {

void Vocabulary::set_piece(std::string piece, int32_t id) {
  if (piece.empty()) return;
  if (const auto known = ids_.find(piece); known != ids_.end()) {
    known->second = id;
    return;
  }
  pieces_.push_back(std::move(piece));
  ids_.emplace(pieces_.back(), id);
}

std::optional<int32_t> Vocabulary::find(std::string_view piece) const {
  const auto found = ids_.find(piece);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

void Vocabulary::set_byte_id(uint8_t byte, int32_t id) { byte_ids_[byte] = id; }

std::optional<int32_t> Vocabulary::byte_id(uint8_t byte) const {
  const auto found = byte_ids_.find(byte);
  if (found == byte_ids_.end()) return std::nullopt;
  return found->second;
}

bool Vocabulary::has_bytes(std::string_view text) const {
  return std::all_of(text.begin(), text.end(),
                     [&](char byte) { return byte_ids_.contains(static_cast<uint8_t>(byte)); });
}

std::optional<uint8_t> byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return std::nullopt;
  uint8_t byte = 0;
  const char* const digits = token.data() + 3;
  const auto [end, error] = std::from_chars(digits, digits + 2, byte, 16);
  if (error != std::errc() || end != digits + 2) return std::nullopt;
  return byte;
}

std::string bytes_of_piece(std::string_view piece) {
  std::string bytes;
  size_t at = 0;
  for (size_t hit; (hit = piece.find(kSpaceMark, at)) != piece.npos; at = hit + kSpaceMark.size()) {
    bytes.append(piece.substr(at, hit - at)).push_back(' ');
  }
  return bytes.append(piece.substr(at));
}

}  // namespace sinkscope::text
