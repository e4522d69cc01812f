#pragma once

#include <cstdint>

namespace sinkscope::diagnostics {

/// What kind of token a position holds (method.md section 14). Codes are stored; new ones come
/// last.
enum class TokenType : uint8_t {
  kBos = 0,             ///< the tokenizer's BOS, wherever it stands
  kFirst = 1,           ///< first token of the sequence, no BOS
  kRepeatedFirst = 2,   ///< the same id as the first token, later
  kFirstDelimiter = 3,  ///< the first token of nothing but . , ; : ! ?
  kDelimiter = 4,       ///< every later one
  kNewline = 5,         ///< white space with a line end
  kCls = 6,             ///< class token of an encoder or image model
  kSep = 7,             ///< what the tokenizer puts behind a text
  kRegister = 8,        ///< register or distillation token
  kPatch = 9,
  kOther = 10,
  kSinkLogit = 11,  ///< no token: the learned sink logit
};
inline constexpr int kTokenTypes = 12;

/// Types that a first token has.
inline constexpr TokenType kFirstTypes[] = {TokenType::kBos, TokenType::kFirst, TokenType::kCls};

}  // namespace sinkscope::diagnostics
