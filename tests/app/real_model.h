#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sinkscope/app/scan.h"
#include "sinkscope/io/safetensors.h"
#include "sinkscope/store/store.h"
#include "tests/support/paths.h"

namespace sinkscope::app::test {

/// A file of a PyPI wheel that `make test` and `make demo` unpack into the user's cache.
inline std::optional<std::filesystem::path> wheel_file(const std::string& wheel,
                                                       const std::string& name) {
  namespace fs = std::filesystem;
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const fs::path root = cache ? fs::path(cache) : fs::path(home ? home : "") / ".cache";
  const fs::path folder = root / "sinkscope" / wheel;
  if (!fs::is_directory(folder)) return std::nullopt;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().filename() == name) return entry.path();
  }
  return std::nullopt;
}

/// Tensors of a reference file, read whole: integers below 2^24 are exact in float.
class Reference {
 public:
  explicit Reference(const std::filesystem::path& file, std::string prefix = {})
      : source_(io::open_safetensors(file)), prefix_(std::move(prefix)) {}
  std::vector<float> read(const std::string& name) const {
    const io::TensorInfo* tensor = source_->find(prefix_ + name);
    EXPECT_NE(tensor, nullptr) << name;
    std::vector<float> values(static_cast<size_t>(tensor->elements()));
    io::read_floats(*source_, *tensor, 0, values);
    return values;
  }

 private:
  std::unique_ptr<io::TensorSource> source_;
  std::string prefix_;
};

/// A finished scan of lists of ids.
struct Scanned {
  std::unique_ptr<store::Store> store;
  nlohmann::json document;
};
inline Scanned scan_ids(const std::string& name, const std::filesystem::path& model,
                        const nlohmann::json& ids) {
  const std::filesystem::path folder = sinkscope::test::scratch_directory(name);
  std::ofstream(folder / "ids.json") << ids;
  ScanOptions options;
  options.model = model.string();
  options.inputs.tokens = {(folder / "ids.json").string()};
  options.diagnostics = {"all"};
  options.output = (folder / "run.db").string();
  options.format = "json";
  std::ostringstream out, err;
  Console console{out, err};
  console.verbosity = -1;
  EXPECT_EQ(scan(options, console), 0) << err.str();
  return {store::Store::open(options.output), nlohmann::json::parse(out.str())};
}

struct Compared {
  const char* metric;     ///< ours
  const char* reference;  ///< [n, layers (+1), heads, width] or without heads
  double tolerance;
  bool relative;
};

/// Every (sequence, layer, head) of a head metric.
inline void compare_heads(const store::Store& store, const Reference& reference,
                          const Compared& row, size_t layers, size_t heads, size_t width = 1) {
  const std::vector<float> expected = reference.read(row.reference);
  const size_t n = expected.size() / (layers * heads * width);
  double worst = 0;
  for (size_t layer = 0; layer < layers; ++layer) {
    const auto values = store.values(row.metric, static_cast<int>(layer));
    ASSERT_EQ(values.size(), n) << row.metric;
    for (size_t s = 0; s < n; ++s) {
      for (size_t i = 0; i < heads * width; ++i) {
        const double want = expected[(s * layers + layer) * heads * width + i];
        const double got = values.at(static_cast<int64_t>(s)).at(i);
        const double difference =
            std::abs(got - want) / (row.relative ? std::max(std::abs(want), 1e-12) : 1);
        if (!(difference <= worst)) worst = difference;
      }
    }
  }
  EXPECT_LE(worst, row.tolerance) << row.metric;
}

/// Heads whose class differs, over all sequences.
inline int different_classes(const store::Store& store, const std::vector<float>& classes,
                             size_t layers, size_t heads) {
  int different = 0;
  for (size_t layer = 0; layer < layers; ++layer) {
    for (const auto& [sequence, values] : store.values("class", static_cast<int>(layer))) {
      for (size_t h = 0; h < heads; ++h) {
        different +=
            values[h] != classes[(static_cast<size_t>(sequence) * layers + layer) * heads + h];
      }
    }
  }
  return different;
}

}  // namespace sinkscope::app::test
