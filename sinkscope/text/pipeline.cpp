#include "sinkscope/text/pipeline.h"

#include <fmt/format.h>

#include "sinkscope/base/error.h"

namespace sinkscope::text {
namespace {

// Positions inside a piece are 31 bits wide, and normalising may treble the length.
constexpr size_t kMaxTextBytes = size_t{1} << 29;

// Calls between(text, first) for what lies between the tokens, whose ids go to `out`.
template <typename Between>
void cut_out(const SpecialTokens& tokens, std::string_view text, bool first, Ids& out,
             Between between) {
  size_t at = 0;
  while (const auto match = tokens.find(text, at)) {
    between(text.substr(at, match->begin - at), first && at == 0);
    out.push_back(match->id);
    at = match->end;
  }
  between(text.substr(at), first && at == 0);
}

const SpecialTokens& choose(const Pipeline::AddedTokens& tokens, bool parse_special) {
  return parse_special ? tokens.special : tokens.user_defined;
}

}  // namespace

std::string rewritten(const std::vector<Rewrite>& steps, std::string_view text, bool first) {
  std::string out(text);
  for (const Rewrite& step : steps) {
    out = step(out, first);
    check_growth(out.size(), text.size());
  }
  return out;
}

Ids Pipeline::encode(std::string_view utf8, bool parse_special) const {
  if (utf8.size() > kMaxTextBytes) {
    throw Error(ErrorKind::kTooLarge, "tokenize text",
                fmt::format("{} bytes, limit {}", utf8.size(), kMaxTextBytes),
                "split the text into several inputs");
  }
  Ids out;
  cut_out(choose(parts_.as_written, parse_special), utf8, true, out,
          [&](std::string_view text, bool first) {
            std::string normalized;
            if (!parts_.normalizer.empty()) {
              normalized = rewritten(parts_.normalizer, text, first);
              text = normalized;
            }
            cut_out(choose(parts_.as_normalized, parse_special), text, first, out,
                    [&](std::string_view rest, bool rest_first) {
                      encode_normalized(rest, rest_first, out);
                    });
          });
  return out;
}

void Pipeline::encode_normalized(std::string_view text, bool first, Ids& out) const {
  const Pieces pieces = parts_.pre_tokenizer.split(text, first);
  for (const std::string_view piece : pieces.list) parts_.model->encode(piece, out);
}

std::string Pipeline::bytes(int32_t id) const {
  if (id < 0 || id >= vocabulary_size()) {
    throw Error(ErrorKind::kUsage, "look up a token",
                fmt::format("id {} is outside 0..{}", id, vocabulary_size() - 1),
                "ids must belong to this model's vocabulary");
  }
  return parts_.model->vocabulary().bytes(id);
}

}  // namespace sinkscope::text
