#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sinkscope::text {

/// Byte-level vocabularies spell each byte as one printable letter (GPT-2's table: 0x20 is U+0120).
///
/// The bytes that a token spelt in these letters stands for; nullopt when a character is no letter
/// of the table.
std::optional<std::string> bytes_of_letters(std::string_view token);

/// The token text of one byte.
std::string letter_of_byte(uint8_t byte);

}  // namespace sinkscope::text
