#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

namespace sinkscope::test {

/// Reference data by its path below `data/`: from the full set beside the checkout (../shared/data,
/// or the directory in SINKSCOPE_SHARED) or, for a clone alone, from the compact set in tests/data.
std::optional<std::filesystem::path> data_path(const std::string& relative);

/// A fresh empty directory, removed at exit of the program.
std::filesystem::path scratch_directory(const std::string& name);

}  // namespace sinkscope::test

/// Declares `variable`, or skips the test by the name of what is absent.
#define SINKSCOPE_DATA_OR_SKIP(variable, relative)                              \
  const auto variable##_or_none = ::sinkscope::test::data_path(relative);       \
  if (!variable##_or_none) GTEST_SKIP() << "no reference data: " << (relative); \
  const std::filesystem::path variable = *variable##_or_none
