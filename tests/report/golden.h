#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace sinkscope::report::test {

/// Compares with tests/report/golden/NAME. After a wanted change, run the test once with
/// SINKSCOPE_UPDATE_GOLDEN=1 and read the difference before it is committed.
inline void expect_golden(const std::string& name, const std::string& text) {
  const auto path = std::filesystem::path(__FILE__).parent_path() / "golden" / name;
  if (std::getenv("SINKSCOPE_UPDATE_GOLDEN")) std::ofstream(path, std::ios::binary) << text;
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path;
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(in), {})) << path;
}

}  // namespace sinkscope::report::test
