#pragma once

#include <string>
#include <string_view>

namespace sinkscope::store {

/// `text` with every byte that is part of no valid UTF-8 sequence written as \xF0.
std::string valid_utf8(std::string_view text);

}  // namespace sinkscope::store
