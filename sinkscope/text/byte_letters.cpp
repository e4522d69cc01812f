#include "sinkscope/text/byte_letters.h"

#include <array>

#include "sinkscope/text/utf8.h"

namespace sinkscope::text {
namespace {

constexpr char32_t kFirstStandIn = 0x100;  // unprintable bytes get U+0100, U+0101, ... in order
constexpr int kStandIns = 68;

constexpr bool is_printable(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Table {
  std::array<char32_t, 256> letter{};
  std::array<int, kFirstStandIn + kStandIns> byte{};  ///< -1: no letter

  constexpr Table() {
    byte.fill(-1);
    char32_t stand_in = kFirstStandIn;
    for (int b = 0; b < 256; ++b) {
      letter[b] = is_printable(b) ? static_cast<char32_t>(b) : stand_in++;
      byte[letter[b]] = b;
    }
  }
};
constexpr Table kTable;

}  // namespace

std::optional<std::string> bytes_of_letters(std::string_view token) {
  std::string bytes;
  for (size_t at = 0; at < token.size();) {
    const size_t length = utf8_length(token, at);
    if (length == 0) return std::nullopt;
    const char32_t letter = utf8_decode(token.substr(at, length));
    if (letter >= kTable.byte.size() || kTable.byte[letter] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(kTable.byte[letter]));
    at += length;
  }
  return bytes;
}

std::string letter_of_byte(uint8_t byte) {
  std::string letter;
  utf8_append(kTable.letter[byte], letter);
  return letter;
}

}  // namespace sinkscope::text
