#include <fmt/format.h>

#include <algorithm>

#include "sinkscope/base/error.h"
#include "sinkscope/text/tokenizer.h"
#include "sinkscope/text/utf8.h"

namespace sinkscope::text {
namespace {

// Characters that draw nothing or change how their neighbours are drawn.
bool is_invisible(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0xAD || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF ||
         (c & 0xFFFE) == 0xFFFE;
}

void append_label(char32_t c, std::string_view sequence, std::string& out) {
  switch (c) {
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    // Otherwise the label of a line feed and of the two characters \n would be one.
    case '\\': out += "\\\\"; return;
    default: break;
  }
  if (!is_invisible(c)) {
    out += sequence;
  } else if (c < 0x80) {
    out += fmt::format("\\x{:02X}", static_cast<uint32_t>(c));
  } else {
    out += fmt::format("\\u{{{:04X}}}", static_cast<uint32_t>(c));
  }
}

std::string named(const Tokenizer& tokenizer, std::string_view role, int32_t id) {
  return fmt::format("{} ({}, id {})", role, token_label(tokenizer, id), id);
}

void add_bos(const Tokenizer& tokenizer, int32_t bos, BosRule rule, Prompt& prompt) {
  const bool own = !prompt.ids.empty() && prompt.ids[0] == bos;
  const bool wanted = rule == BosRule::kAlways || (rule == BosRule::kAuto && tokenizer.adds_bos());
  prompt.bos_added = wanted && (rule == BosRule::kAlways || !own);
  const std::string name = named(tokenizer, "BOS", bos);
  if (wanted && own) {
    prompt.warnings.push_back(fmt::format(
        "the text brings its own {}; {}", name,
        prompt.bos_added ? "--bos always put a second one in front" : "none was added"));
  }
  if (prompt.bos_added) prompt.ids.insert(prompt.ids.begin(), bos);
  const bool twice = prompt.ids.size() > 1 && prompt.ids[0] == bos && prompt.ids[1] == bos;
  if (twice && prompt.warnings.empty()) {
    prompt.warnings.push_back(fmt::format("the prompt begins with two {}", name));
  }
}

// `text` is the number of ids that are the text's own.
void add_closing(const Tokenizer& tokenizer, size_t text, Prompt& prompt) {
  const Ids closing = tokenizer.closing_ids();
  if (closing.empty()) return;
  const bool own =
      text >= closing.size() && std::equal(closing.rbegin(), closing.rend(), prompt.ids.rbegin());
  if (own) {
    prompt.warnings.push_back(fmt::format("the text brings its own {}; none was added",
                                          named(tokenizer, "closing token", closing.back())));
    return;
  }
  prompt.ids.insert(prompt.ids.end(), closing.begin(), closing.end());
  prompt.closing_added = true;
}

}  // namespace

std::string token_label(const Tokenizer& tokenizer, int32_t id) {
  const std::string bytes = tokenizer.bytes(id);
  std::string label;
  for (size_t at = 0; at < bytes.size();) {
    const size_t length = utf8_length(bytes, at);
    if (length == 0) {
      label += fmt::format("\\x{:02X}", static_cast<uint8_t>(bytes[at++]));
      continue;
    }
    const std::string_view sequence = std::string_view(bytes).substr(at, length);
    append_label(utf8_decode(sequence), sequence, label);
    at += length;
  }
  return label;
}

Prompt make_prompt(const Tokenizer& tokenizer, std::string_view utf8, BosRule rule) {
  const std::optional<int32_t> bos = tokenizer.bos_id();
  if (rule == BosRule::kAlways && !bos) {
    throw Error(ErrorKind::kUsage, "put a BOS in front",
                "the tokenizer (" + tokenizer.kind() + ") names no BOS token",
                "use --bos auto or --bos never, or give the ids with --tokens");
  }
  Prompt prompt;
  prompt.ids = tokenizer.encode(utf8, /*parse_special=*/true);
  const size_t text = prompt.ids.size();
  if (bos) add_bos(tokenizer, *bos, rule, prompt);
  if (rule != BosRule::kNever) add_closing(tokenizer, text, prompt);
  return prompt;
}

}  // namespace sinkscope::text
