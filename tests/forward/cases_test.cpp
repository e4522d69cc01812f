// Cases of public bug reports that concern a whole pass (design: cases.md).

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sinkscope/forward/kernels/elementwise.h"
#include "sinkscope/forward/recorder.h"
#include "sinkscope/forward/runner.h"
#include "tests/forward/golden_case.h"
#include "tests/support/paths.h"

namespace sinkscope::forward {
namespace {

namespace fs = std::filesystem;

fs::path family_case(const std::string& name) {
  return sinkscope::test::data_path("families/" + name).value();
}

std::unique_ptr<model::Model> open_case(const std::string& name) {
  return model::Model::open(family_case(name).string());
}

Taps taps_of(const model::Model& model, const Stream& stream) {
  Recorder recorder;
  Observer* observers[] = {&recorder};
  Runner(model, {}).run({&stream, 1}, observers);
  return recorder.stream(0);
}

std::string pattern_name(int layer) { return tap_name(Tap::kPattern, layer); }

/// 24 ids below 40, none twice in a row.
std::vector<int32_t> some_ids(int64_t count) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>((7 * i + 3) % 40));
  return ids;
}

TEST(Cases, ATT_8_PartialRotary) {
  // Position 1, four of sixteen channels: frequencies 1 and 0.01, pairs (0, 2) and (1, 3).
  const model::Rope rope = model::make_rope(4, 10000);
  std::vector<float> cos, sin;
  for (const double f : rope.inverse_frequency) {
    cos.push_back(static_cast<float>(std::cos(f)));
    sin.push_back(static_cast<float>(std::sin(f)));
  }
  std::vector<float> e0(16), e1(16);
  e0[0] = e1[1] = 1;
  kernels::rotate(e0.data(), 1, 16, 4, cos.data(), sin.data());
  kernels::rotate(e1.data(), 1, 16, 4, cos.data(), sin.data());
  EXPECT_NEAR(e0[0], 0.54030231, 1e-7);
  EXPECT_NEAR(e0[2], 0.84147098, 1e-7);
  EXPECT_NEAR(e1[1], 0.99995000, 1e-7);
  EXPECT_NEAR(e1[3], 0.00999983, 1e-7);
  for (size_t c = 4; c < 16; ++c) EXPECT_EQ(e0[c] + e1[c], 0);
}

TEST(Cases, ATT_8_ParallelBlockHasNoMiddle) {
  const auto model = open_case("phi");
  ASSERT_EQ(model->spec().form, model::BlockForm::kParallel);
  const Taps taps = taps_of(*model, {some_ids(8), {}, {}, {}});
  EXPECT_FALSE(taps.contains(tap_name(Tap::kResidMid, 0)));
  const at::Tensor sum = taps.at(tap_name(Tap::kResidPre, 0)) +
                         taps.at(tap_name(Tap::kAttnOut, 0)) + taps.at(tap_name(Tap::kMlpOut, 0));
  EXPECT_TRUE(at::allclose(sum, taps.at(tap_name(Tap::kResidPost, 0)), 1e-5, 1e-5));
}

TEST(Cases, ATT_9_TheLastResidualIsBeforeTheFinalNorm) {
  for (const char* name : {"llama", "vit"}) {
    const auto model = open_case(name);
    const Stream stream = test::golden_streams(family_case(name) / "golden.safetensors")[0];
    const Taps taps = taps_of(*model, stream);
    const int last = static_cast<int>(model->spec().layers) - 1;
    const at::Tensor after = taps.at(tap_name(Tap::kResidPost, last));
    const at::Tensor before = taps.at(tap_name(Tap::kResidPre, last));
    const at::Tensor sum =
        before + taps.at(tap_name(Tap::kAttnOut, last)) + taps.at(tap_name(Tap::kMlpOut, last));
    EXPECT_TRUE(at::allclose(after, sum, 1e-5, 1e-5)) << name;
    EXPECT_FALSE(at::allclose(after, taps.at(tap_name(Tap::kFinalNorm, 0)), 1e-2, 1e-2)) << name;
  }
}

// There is no cache to go wrong: the row of a query is the same whatever comes after it.
TEST(Cases, ATT_10_TokenByTokenAndAllAtOnce) {
  const auto model = open_case("llama");
  const std::vector<int32_t> ids = some_ids(24);
  const Taps whole = taps_of(*model, {ids, {}, {}, {}});
  for (int64_t length = 8; length <= 24; ++length) {
    const Stream prefix{{ids.begin(), ids.begin() + length}, {}, {}, {}};
    const Taps part = taps_of(*model, prefix);
    for (int layer = 0; layer < static_cast<int>(model->spec().layers); ++layer) {
      const at::Tensor row = part.at(pattern_name(layer)).select(1, length - 1);
      const at::Tensor same =
          whole.at(pattern_name(layer)).select(1, length - 1).narrow(1, 0, length);
      EXPECT_LE((row - same).abs().max().item<double>(), 2e-6) << length << " " << layer;
    }
  }
}

TEST(Cases, TOK_2_PositionsCountFromTheFirstRealToken) {
  const auto model = open_case("gpt2");
  const std::vector<int32_t> ids = {5, 17, 3, 38, 40, 2};
  const Taps alone = taps_of(*model, {ids, {}, {}, {}});
  // The batch mates of a padded run: other lengths beside it change nothing.
  const std::vector<Stream> streams = {{some_ids(9), {}, {}, {}}, {ids, {}, {}, {}}};
  Recorder recorder;
  Observer* observers[] = {&recorder};
  Runner(*model, {}).run(streams, observers);
  for (const auto& [name, expected] : alone) {
    EXPECT_TRUE(at::allclose(recorder.stream(1).at(name), expected, 1e-5, 1e-5)) << name;
  }
}

TEST(Cases, TOK_3_NothingCrossesADocument) {
  for (const char* name : {"llama", "gpt2", "bloom", "mistral"}) {
    const auto model = open_case(name);
    const std::vector<int32_t> first = some_ids(6), second = {1, 9, 22, 4, 31};
    Stream packed{first, {}, {0, 6}, {}};
    packed.ids.insert(packed.ids.end(), second.begin(), second.end());
    const Taps together = taps_of(*model, packed);
    const Taps alone[] = {taps_of(*model, {first, {}, {}, {}}),
                          taps_of(*model, {second, {}, {}, {}})};
    const Taps reference = run_reference(*model, packed, at::kDouble);
    for (int layer = 0; layer < static_cast<int>(model->spec().layers); ++layer) {
      const at::Tensor pattern = together.at(pattern_name(layer));
      EXPECT_EQ(pattern.slice(1, 6).slice(2, 0, 6).abs().max().item<float>(), 0) << name;
      EXPECT_EQ(pattern.slice(1, 0, 6).slice(2, 6).abs().max().item<float>(), 0) << name;
      EXPECT_LE((pattern - reference.at(pattern_name(layer))).abs().max().item<double>(), 1e-5);
    }
    const std::string last = tap_name(Tap::kFinalNorm, 0);
    EXPECT_TRUE(at::allclose(together.at(last).slice(0, 0, 6), alone[0].at(last), 1e-5, 1e-5));
    EXPECT_TRUE(at::allclose(together.at(last).slice(0, 6), alone[1].at(last), 1e-5, 1e-5));
  }
}

TEST(Cases, VIT_1_TheMapIsTheSoftmax) {
  const auto model = open_case("vit");
  const Taps taps =
      taps_of(*model, test::golden_streams(family_case("vit") / "golden.safetensors")[0]);
  for (int layer = 0; layer < static_cast<int>(model->spec().layers); ++layer) {
    const at::Tensor pattern = taps.at(pattern_name(layer)).to(at::kDouble);
    EXPECT_GE(pattern.min().item<double>(), 0);
    EXPECT_LE((pattern.sum(-1) - 1).abs().max().item<double>(), 1e-6);
    const at::Tensor q = taps.at(tap_name(Tap::kRotQ, layer)).to(at::kDouble).transpose(0, 1),
                     k = taps.at(tap_name(Tap::kRotK, layer)).to(at::kDouble).transpose(0, 1);
    const at::Tensor scores =
        at::matmul(q, k.transpose(1, 2)) / std::sqrt(static_cast<double>(model->spec().head_width));
    EXPECT_LE((pattern - at::softmax(scores, -1)).abs().max().item<double>(), 1e-6);
  }
}

TEST(Cases, VIT_2_WholePatchesOnly) {
  model::ModelSpec spec;
  spec.vision.patch = 14;
  spec.vision.class_token = true;
  spec.vision.registers = 4;
  for (const int64_t side : {416, 406}) {
    Stream stream;
    stream.pixels = at::zeros({3, side, side});
    EXPECT_EQ(grid_of(spec, stream).rows, 29);
    EXPECT_EQ(grid_of(spec, stream).columns, 29);
    EXPECT_EQ(tokens_of(spec, stream), 846);
  }
}

TEST(Cases, VIT_3_TheSameModelUnderOtherNames) {
  const auto worst = test::compare_with_golden(family_case("vit_timm").string(),
                                               family_case("vit_timm") / "golden.safetensors");
  EXPECT_LE(worst.tap, 1e-5) << worst.tap_name;
}

}  // namespace
}  // namespace sinkscope::forward
