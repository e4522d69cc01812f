#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sinkscope::io {

bool is_utf8(std::string_view text);

/// Text from a file made fit for a message: control characters and bytes that are not UTF-8 as
/// \xNN, at most 80 bytes and an ellipsis.
std::string printable(std::string_view text);

/// A size for a message: 1536 is "1,536".
std::string grouped(uint64_t number);

}  // namespace sinkscope::io
