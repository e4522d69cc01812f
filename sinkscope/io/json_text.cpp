#include "sinkscope/io/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sinkscope/base/error.h"
#include "sinkscope/io/printable.h"

namespace sinkscope::io {

namespace {

constexpr int kMostLevels = 100;

// Before the parser runs, so that no document, however deep, is ever built or destroyed.
void check_depth(std::string_view text, const std::string& operation, const std::string& where) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMostLevels) {
        throw Error(ErrorKind::kBadFile, operation,
                    fmt::format("{}: byte {}: nesting above {} levels", where, i, kMostLevels));
      }
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
}

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& operation,
                          const std::string& where) {
  check_depth(text, operation, where);
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    // The parser counts from 1 and stops behind the last byte it looked at.
    const size_t byte = error.byte > 0 ? error.byte - 1 : 0;
    throw Error(
        ErrorKind::kBadFile, operation,
        byte >= text.size()
            ? fmt::format("{}: not valid JSON: ends at byte {} in the middle", where, text.size())
            : fmt::format("{}: not valid JSON at byte {}, found '{}'", where, byte,
                          printable(text.substr(byte, 1))),
        "the file may be cut short or edited by hand");
  } catch (const nlohmann::json::out_of_range&) {
    throw Error(ErrorKind::kBadFile, operation,
                where + ": not valid JSON: a number is too large for any type");
  }
}

std::string describe_json(const nlohmann::json& value) {
  if (value.is_string()) return "text \"" + printable(value.get_ref<const std::string&>()) + "\"";
  if (value.is_array()) return fmt::format("an array of {}", value.size());
  if (value.is_object()) return "an object";
  if (value.is_number()) return "number " + value.dump();
  return value.dump();  // true, false, null
}

}  // namespace sinkscope::io
