// Half-space margins of a tiny llama with grouped keys, through the whole program, against the
// margins of its golden tensors.

#include "sinkscope/stats/geometry.h"

#include <ATen/ops/empty.h>

#include "tests/app/real_model.h"

namespace sinkscope::app {
namespace {

constexpr int64_t kSequences = 2, kTokens = 32, kHeads = 4, kGroups = 2, kHeadWidth = 12,
                  kWidth = 48;
constexpr int kLayers = 3;

/// Rows [tokens, width] of a tensor [.., tokens, width], the `index`-th of them.
at::Tensor block(const std::vector<float>& values, int64_t index, int64_t width) {
  at::Tensor rows = at::empty({kTokens, width}, at::kFloat);
  std::copy_n(values.begin() + index * kTokens * width, kTokens * width, rows.data_ptr<float>());
  return rows;
}

/// x / rms(x) times the gain.
at::Tensor normed(at::Tensor x, const std::vector<float>& gain, double epsilon) {
  for (int64_t t = 0; t < x.size(0); ++t) {
    float* row = x.data_ptr<float>() + t * x.size(1);
    double square = 0;
    for (int64_t c = 0; c < x.size(1); ++c) square += static_cast<double>(row[c]) * row[c];
    const double scale = 1 / std::sqrt(square / static_cast<double>(x.size(1)) + epsilon);
    for (int64_t c = 0; c < x.size(1); ++c)
      row[c] = static_cast<float>(row[c] * scale * gain[static_cast<size_t>(c)]);
  }
  return x;
}

stats::GeometryValues expected(const at::Tensor& q, const at::Tensor& k, int64_t sink) {
  const stats::SinkPairs pairs = stats::sink_pairs({}, kTokens, sink);
  return stats::sink_geometry(q, k, pairs, stats::duplicates_of_sink(k, pairs));
}

void expect_hull(const stats::HullValues& want, double holds, double margin) {
  EXPECT_EQ(holds, want.holds);
  EXPECT_NEAR(margin, want.margin, 1e-5);  // float32 against golden float32: 1e-6
}

TEST(Geometry, EqualsTheMarginsOfTheGoldenTensors) {
  SINKSCOPE_DATA_OR_SKIP(golden_file, "golden/llama/golden.safetensors");
  const auto folder = golden_file.parent_path();
  const test::Reference golden(golden_file), weights(folder / "model.safetensors");
  const auto config = nlohmann::json::parse(std::ifstream(folder / "config.json"));
  const std::vector<float> ids = golden.read("input_ids");
  nlohmann::json lists = nlohmann::json::array();
  for (int64_t s = 0; s < kSequences; ++s) {
    lists.push_back(std::vector<int>(ids.begin() + s * kTokens, ids.begin() + (s + 1) * kTokens));
  }
  const auto [store, document] = test::scan_ids("geometry", folder, lists);
  int heads = 0, later_sinks = 0;
  for (int layer = 0; layer < kLayers; ++layer) {
    const std::string l = std::to_string(layer);
    const auto x = golden.read("resid_pre." + l), q = golden.read("q." + l),
               k = golden.read("k." + l);
    const auto gain = weights.read("model.layers." + l + ".input_layernorm.weight");
    const auto h1 = store->values("h1", layer), h2 = store->values("h2", layer),
               margin_z = store->values("margin_z", layer),
               margin_d = store->values("margin_d", layer),
               head_h1 = store->values("head_h1", layer), head_h2 = store->values("head_h2", layer),
               margin_q = store->values("head_margin_q", layer),
               margin_k = store->values("head_margin_k", layer),
               sinks = store->values("sink_index", layer), cost = store->values("sink_cost", layer);
    for (int64_t s = 0; s < kSequences; ++s) {
      const at::Tensor z = normed(block(x, s, kWidth), gain, config["rms_norm_eps"].get<double>());
      const stats::GeometryValues of_layer = expected(z, z, 0);
      expect_hull(of_layer.leads, h1.at(s)[0], margin_d.at(s)[0]);
      expect_hull(of_layer.queries, h2.at(s)[0], margin_z.at(s)[0]);
      if (of_layer.leads.margin > 0 && of_layer.queries.margin > 0) {
        EXPECT_NEAR(cost.at(s)[1] * of_layer.leads.margin * of_layer.queries.margin, 1, 1e-3);
      }
      for (int64_t h = 0; h < kHeads; ++h) {
        const auto at = static_cast<size_t>(h);
        const auto sink = static_cast<int64_t>(sinks.at(s)[at]);
        const stats::GeometryValues of_head =
            expected(block(q, s * kHeads + h, kHeadWidth),
                     block(k, s * kGroups + h / (kHeads / kGroups), kHeadWidth), sink);
        expect_hull(of_head.leads, head_h1.at(s)[at], margin_k.at(s)[at]);
        expect_hull(of_head.queries, head_h2.at(s)[at], margin_q.at(s)[at]);
        heads += 1, later_sinks += sink > 0;
      }
    }
  }
  EXPECT_EQ(heads, 24);
  EXPECT_GT(later_sinks, 0);  // heads with a dominant key other than 0 are among them
}

}  // namespace
}  // namespace sinkscope::app
