#include "sinkscope/text/pipeline.h"

#include <fmt/format.h>

#include "sinkscope/base/error.h"

namespace sinkscope::text {
namespace {

// Positions inside a piece are 31 bits wide, and normalising may treble the length.
constexpr size_t kMaxTextBytes = size_t{1} << 29;

}  // namespace

Ids Pipeline::encode(std::string_view utf8, bool parse_special) const {
  if (utf8.size() > kMaxTextBytes) {
    throw Error(ErrorKind::kTooLarge, "tokenize text",
                fmt::format("{} bytes, limit {}", utf8.size(), kMaxTextBytes),
                "split the text into several inputs");
  }
  const SpecialTokens& special = parse_special ? parts_.special : parts_.user_defined;
  Ids out;
  size_t at = 0;
  while (const auto match = special.find(utf8, at)) {
    encode_text(utf8.substr(at, match->begin - at), at == 0, out);
    out.push_back(match->id);
    at = match->end;
  }
  encode_text(utf8.substr(at), at == 0, out);
  return out;
}

void Pipeline::encode_text(std::string_view text, bool first, Ids& out) const {
  std::string normalized;
  if (!parts_.normalizer.empty()) {
    normalized = parts_.normalizer(text, first);
    text = normalized;
  }
  for (const std::string_view piece : parts_.pre_tokenizer.split(text)) {
    parts_.model.encode(piece, out);
  }
}

std::string Pipeline::bytes(int32_t id) const {
  if (id < 0 || id >= vocabulary_size()) {
    throw Error(ErrorKind::kUsage, "look up a token",
                fmt::format("id {} is outside 0..{}", id, vocabulary_size() - 1),
                "ids must belong to this model's vocabulary");
  }
  return parts_.model.vocabulary().bytes(id);
}

}  // namespace sinkscope::text
