#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace sinkscope::io {

/// Parses a JSON document from a file of unknown origin. Throws kBadFile naming `where` and the
/// byte: not JSON, not UTF-8, nesting above 100 levels.
nlohmann::json parse_json(std::string_view text, const std::string& operation,
                          const std::string& where);

/// A value as a message shows it: "text \"abc\"", "number 3", "array of 4".
std::string describe_json(const nlohmann::json& value);

}  // namespace sinkscope::io
