#include "tests/support/paths.h"

#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace sinkscope::test {
namespace fs = std::filesystem;

std::optional<fs::path> data_path(const std::string& relative) {
  const fs::path source = SINKSCOPE_SOURCE_DIR;
  std::vector<fs::path> roots;
  if (const char* shared = std::getenv("SINKSCOPE_SHARED")) {
    roots.push_back(fs::path(shared) / "data");
  } else {
    roots.push_back(source.parent_path() / "shared" / "data");
  }
  roots.push_back(source / "tests" / "data");
  for (const fs::path& root : roots) {
    if (fs::exists(root / relative)) return root / relative;
  }
  return std::nullopt;
}

namespace {
struct Scratch {
  fs::path root = fs::temp_directory_path() / ("sinkscope-test-" + std::to_string(getpid()));
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(root, ignored);
  }
};
}  // namespace

fs::path scratch_directory(const std::string& name) {
  static Scratch scratch;
  const fs::path directory = scratch.root / name;
  fs::remove_all(directory);
  fs::create_directories(directory);
  return directory;
}

}  // namespace sinkscope::test
