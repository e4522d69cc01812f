// The circuit's numbers on every small family, by identities that need no second implementation.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "sinkscope/app/measure.h"
#include "sinkscope/diagnostics/summary.h"
#include "sinkscope/forward/runner.h"
#include "tests/support/paths.h"

namespace sinkscope::app {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kTokens = 24;

struct Measured {
  std::unique_ptr<model::Model> model;
  std::vector<diagnostics::Record> records;
  std::vector<store::RunSum> sums;
  const model::ModelSpec& spec() const { return model->spec(); }
  double value(std::string_view metric, int layer, size_t i = 0) const {
    const auto values = records[0].find(metric, layer);
    return i < values.size() ? values[i] : diagnostics::kNoData;
  }
};

/// Text models only. `documents`: first positions of packed ones, by sequence.
Measured measure(const fs::path& folder, std::vector<std::vector<int64_t>> documents = {{}}) {
  Measured run{model::Model::open(folder.string()), {}, {}};
  std::vector<store::SequenceInfo> infos;
  std::vector<forward::Stream> streams;
  for (const std::vector<int64_t>& starts : documents) {
    store::SequenceInfo info;
    info.id = std::ssize(infos);
    const int64_t context = run.spec().context;
    for (int64_t i = 0; i < (context == 0 ? kTokens : std::min(kTokens, context)); ++i)
      info.ids.push_back(
          static_cast<int32_t>((i * 7 + 3) % std::min<int64_t>(30, run.spec().vocabulary)));
    streams.push_back({info.ids, {}, starts, {}});
    infos.push_back(std::move(info));
  }
  const std::string names[] = {"circuit"};
  MeasureOptions options;
  options.diagnostics = diagnostics::select_diagnostics(names);
  for (int l = 0; l < static_cast<int>(run.spec().layers); ++l) options.layers.insert(l);
  std::vector<const store::SequenceInfo*> sequences;
  for (const store::SequenceInfo& info : infos) sequences.push_back(&info);
  Measure measure(run.spec(), options, sequences);
  forward::Observer* observers[] = {&measure};
  forward::Runner(*run.model, {}).run(streams, observers);
  measure.finish();
  run.records.assign(measure.records().begin(), measure.records().end());
  run.sums = measure.run_sums();
  return run;
}

std::vector<fs::path> causal_families() {
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(sinkscope::test::data_path("families").value())) {
    if (!fs::exists(entry.path() / "config.json")) continue;
    const auto model = model::Model::open(entry.path().string());
    if (model->spec().causal && model->spec().vocabulary > 0) cases.push_back(entry.path());
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

TEST(CircuitMeasure, WritesAddUpInEveryFamily) {
  int gated = 0, normed = 0, parallel = 0;
  for (const fs::path& folder : causal_families()) {
    const Measured run = measure(folder);
    const model::ModelSpec& spec = run.spec();
    gated += spec.attention_gate, normed += spec.branch_norms;
    parallel += spec.form == model::BlockForm::kParallel;
    for (int l = 0; l < static_cast<int>(spec.layers); ++l) {
      const std::string where = folder.filename().string() + " layer " + std::to_string(l);
      const double before = run.value("p0_channel_before", l),
                   after = run.value("p0_channel_after", l),
                   attention = run.value("p0_channel_attn", l),
                   mlp = run.value("p0_channel_mlp", l);
      EXPECT_EQ(run.value("p0_applies", l), 1) << where;
      // Float32 sums of numbers of this size.
      const double tolerance = 2e-6 * (1 + std::abs(before) + std::abs(after));
      if (spec.form != model::BlockForm::kPostNorm) {
        EXPECT_NEAR(before + attention + mlp, after, tolerance) << where;
      }
      double heads = 0;
      for (size_t h = 0; h < static_cast<size_t>(spec.heads); ++h) {
        heads += run.value("p0_channel_head", l, h);
      }
      if (!spec.output_bias) {
        EXPECT_NEAR(heads, attention, tolerance) << where;
      }
      EXPECT_EQ(std::isnan(run.value("resid_mid_norm_p0", l)),
                spec.form == model::BlockForm::kParallel || !spec.mlp)
          << where;
      EXPECT_EQ(std::isnan(run.value("turn_p0", l)), spec.form == model::BlockForm::kPostNorm)
          << where;
    }
    // Where block 0's state between the branches is embedding plus attention.
    if (spec.form == model::BlockForm::kSequential && spec.mlp && !spec.gates_output() &&
        !spec.branch_norms) {
      EXPECT_NEAR(run.value("p0_separation", 0), run.value("resid_mid_norm_ratio", 0), 1e-6)
          << folder;
    }
  }
  EXPECT_GT(gated, 0);
  EXPECT_GT(normed, 0);
  EXPECT_GT(parallel, 0);
}

TEST(CircuitMeasure, DirectionsOfUnitLengthForEachTrackedPosition) {
  const Measured run =
      measure(sinkscope::test::data_path("families").value() / "llama", {{}, {0, 9}});
  const auto width = static_cast<size_t>(run.spec().width);
  const std::vector<double> both = {2, 2, 2, 2, 2, 2, 1};  // 16 lies in the second document
  EXPECT_EQ(run.sums.size(), 4 * static_cast<size_t>(run.spec().layers));
  for (const store::RunSum& sum : run.sums) {
    ASSERT_EQ(sum.values.size(), both.size() * (width + 1)) << sum.name;
    for (size_t p = 0; p < both.size(); ++p) {
      const double* row = &sum.values[p * (width + 1)];
      EXPECT_EQ(row[0], both[p]) << sum.name << " " << p;
      double square = 0;
      for (size_t c = 1; c <= width; ++c) square += row[c] * row[c];
      // The documents share their first 9 tokens, so both directions are the same.
      EXPECT_NEAR(square, both[p] * both[p], 1e-6) << sum.name << " " << p;
    }
  }
}

TEST(CircuitMeasure, PackedDocumentsLeaveOutTheirOwnStarts) {
  const auto folder = sinkscope::test::data_path("families").value() / "llama";
  const Measured whole = measure(folder), packed = measure(folder, {{0, 12}});
  EXPECT_EQ(whole.value("p0_channel_after", 0), packed.value("p0_channel_after", 0));
  EXPECT_NE(whole.value("attn_out_norm_median", 0), packed.value("attn_out_norm_median", 0));
}

TEST(CircuitMeasure, EncodersHaveNone) {
  const Measured run = measure(sinkscope::test::data_path("families").value() / "bert");
  EXPECT_EQ(run.value("p0_applies", 0), 0);
  EXPECT_TRUE(std::isnan(run.value("mlp_gain", 0)));
  EXPECT_TRUE(run.sums.empty());
}

}  // namespace
}  // namespace sinkscope::app
