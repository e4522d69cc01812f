#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "sinkscope/base/error.h"

namespace sinkscope::app {

/// The row of a table (a span of things with a `name`) that has this name; null without one.
template <typename Table>
auto find_named(const Table& table, std::string_view name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.name == name; });
  return found == table.end() ? nullptr : &*found;
}

/// "cone, isotropic": the names of a table.
template <typename Table>
std::string names_of(const Table& table) {
  std::string names;
  for (const auto& row : table) names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  return names;
}

/// The row of this name, or kUsage for `flag` with the names that there are.
template <typename Table>
const auto& need_named(const Table& table, std::string_view name, std::string_view flag) {
  const auto* found = find_named(table, name);
  if (found) return *found;
  throw Error(ErrorKind::kUsage, "read flags", fmt::format("{} {}", flag, name), names_of(table));
}

}  // namespace sinkscope::app
