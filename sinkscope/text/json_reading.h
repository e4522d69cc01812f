#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sinkscope/io/config_json.h"

namespace sinkscope::text {

/// Refuses a construct of tokenizer.json.
[[noreturn]] void refuse_construct(const io::Config& at, std::string_view construct);

/// Refuses damage.
[[noreturn]] void refuse_damage(const io::Config& at, const std::string& seen);

/// The objects of the array under `key`; none when absent.
std::vector<io::Config> objects(const io::Config& at, std::string_view key);

/// A `pattern`: {"String": ..} or {"Regex": ..}.
struct Pattern {
  std::string text;
  bool literal = false;
};
Pattern read_pattern(const io::Config& at);

/// A pattern that matches `literal` and nothing else.
std::string escaped(std::string_view literal);

}  // namespace sinkscope::text
