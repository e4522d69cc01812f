#include "sinkscope/app/token_types.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace sinkscope::app {
namespace {

using diagnostics::TokenType;
using Types = std::vector<TokenType>;

constexpr std::string_view kSpace = " \t\r\n", kDelimiters = ".,;:!?";

Types image_types(const model::Vision& vision, int64_t tokens) {
  Types types(static_cast<size_t>(tokens), TokenType::kPatch);
  for (int64_t t = 0; t < std::min(tokens, vision.prefix()); ++t) {
    types[static_cast<size_t>(t)] =
        t == 0 && vision.class_token ? TokenType::kCls : TokenType::kRegister;
  }
  return types;
}

/// By its characters alone: newline, delimiter or other.
TokenType type_of_bytes(const std::string& bytes) {
  const size_t first = bytes.find_first_not_of(kSpace);
  if (first == std::string::npos) {
    return bytes.find('\n') == std::string::npos ? TokenType::kOther : TokenType::kNewline;
  }
  const size_t last = bytes.find_last_not_of(kSpace) + 1;
  const bool only = bytes.find_first_not_of(kDelimiters, first) >= last;
  return only ? TokenType::kDelimiter : TokenType::kOther;
}

class TextTypes {
 public:
  TextTypes(bool causal, const text::Tokenizer* tokenizer)
      : causal_(causal), tokenizer_(tokenizer) {
    if (!tokenizer) return;
    bos_ = tokenizer->bos_id();
    closing_ = tokenizer->closing_ids();
  }

  Types operator()(const store::SequenceInfo& sequence) const {
    Types types;
    bool delimiter_seen = false;
    for (size_t t = 0; t < sequence.ids.size(); ++t) {
      TokenType type = type_of(sequence.ids, t);
      if (type == TokenType::kDelimiter && !delimiter_seen) {
        type = TokenType::kFirstDelimiter;
        delimiter_seen = true;
      }
      types.push_back(type);
    }
    return types;
  }

 private:
  TokenType type_of(const std::vector<int32_t>& ids, size_t t) const {
    const int32_t id = ids[t];
    if (id == bos_) return causal_ ? TokenType::kBos : TokenType::kCls;
    if (t == 0) return TokenType::kFirst;
    if (std::find(closing_.begin(), closing_.end(), id) != closing_.end()) return TokenType::kSep;
    if (id == ids[0]) return TokenType::kRepeatedFirst;
    // A model's table may hold more rows than the tokenizer has tokens.
    if (!tokenizer_ || id >= tokenizer_->vocabulary_size()) return TokenType::kOther;
    return type_of_bytes(tokenizer_->bytes(id));
  }

  bool causal_;
  const text::Tokenizer* tokenizer_;
  std::optional<int32_t> bos_;
  text::Ids closing_;
};

}  // namespace

TypesOf token_types(const model::ModelSpec& spec, const text::Tokenizer* tokenizer) {
  if (!spec.is_vision()) return TextTypes(spec.causal, tokenizer);
  return [vision = spec.vision](const store::SequenceInfo& sequence) {
    return image_types(vision, sequence.tokens());
  };
}

}  // namespace sinkscope::app
