#include <cmath>
#include <limits>

#include "tests/app/theory_document.h"

namespace sinkscope::app::test {
namespace {

// method.md section 9, test values: W = -3 I, beta = 0.5, d = 128, T = 64, zero mean and |mean|^2
// = 128 x 0.75^2.
TEST(TheorySmoothing, AntiAlignedMap) {
  TheoryOptions options;
  options.smoothing.scale = -3, options.smoothing.beta = 0.5;
  options.smoothing.means = {0, std::sqrt(72.0)};
  options.smoothing.masks = {"full", "causal"};
  const Document document = run_theory(options, "smoothing");
  EXPECT_EQ(document.code, 0);
  ASSERT_EQ(document.rows("steps").size(), 4u);
  const double last[] = {-0.0119, 0.0252, 0.1142};
  const char* verdicts[] = {"counteracted", "smoothing", "counteracted"};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(document.cell("steps", i, "cos_1").get<double>(), last[i], 5e-5);
    EXPECT_EQ(document.cell("steps", i, "verdict"), verdicts[i]);
    EXPECT_NEAR(document.cell("steps", i, "s").get<double>(), -96, 1e-9);
  }
  EXPECT_NEAR(document.cell("steps", 2, "cos_0").get<double>(), 0.36, 1e-12);
  EXPECT_NEAR(document.cell("steps", 2, "peak").get<double>(), 1.0 / 3, 1e-12);
  EXPECT_NEAR(document.cell("curve", 2 * 11 + 5, "predicted").get<double>(), 0.6967, 5e-5);
  EXPECT_TRUE(document.says("-2C > E"));
}

TEST(TheorySmoothing, MonteCarloOfSixteenSettings) {
  TheoryOptions options;
  options.smoothing.sweep = "settings";
  const Document document = run_theory(options, "smoothing");
  EXPECT_EQ(document.code, 0);
  EXPECT_EQ(document.rows("steps").size(), 16u);
  ASSERT_EQ(document.rows("curve").size(), 80u);
  double worst = 0;
  for (size_t i = 0; i < 80; ++i) {
    worst = std::max(worst, std::abs(document.cell("curve", i, "difference").get<double>()));
  }
  EXPECT_LE(worst, 0.005);
  EXPECT_GT(worst, 0);  // drawn, not predicted twice
}

TEST(TheorySmoothing, SweepOfMapsFindsNoViolationAndTheCounteracting) {
  TheoryOptions options;
  options.smoothing.sweep = "W";
  options.smoothing.width = 32, options.smoothing.maps = 4, options.smoothing.tokens = "2,16";
  const Document document = run_theory(options, "smoothing");
  EXPECT_EQ(document.code, 0);
  double cases = 0;
  for (size_t i = 0; i < document.rows("maps").size(); ++i) {
    EXPECT_EQ(document.cell("maps", i, "violations"), 0);
    cases += document.cell("maps", i, "cases").get<double>();
    if (document.cell("maps", i, "map") != "identity") continue;
    const double scale = document.cell("maps", i, "scale");
    EXPECT_EQ(document.cell("maps", i, "verdict"), scale == 0 || scale == -2 ? "neutral"
                                                   : scale == -1             ? "undefined"
                                                   : scale > -2 && scale < 0 ? "counteracts"
                                                                             : "smooths");
  }
  EXPECT_EQ(cases, (33 + 6 + 9 * 4) * 3 * 2);
}

TEST(TheorySmoothing, ThreadsChangeNothing) {
  TheoryOptions options;
  options.smoothing.tokens = "4,8,16", options.smoothing.width = 16, options.smoothing.draws = 5;
  options.smoothing.value_map = "random", options.seed = 3;
  options.threads = 1;
  const Document one = run_theory(options, "smoothing");
  options.threads = 3;
  EXPECT_EQ(run_theory(options, "smoothing").json.at("tables"), one.json.at("tables"));
  options.seed = 4;
  EXPECT_NE(run_theory(options, "smoothing").json.at("tables"), one.json.at("tables"));
}

// u = W x with W = [[0, 2], [0, 0]]: the transposed map would give C = 2, E = 12.
TEST(TheorySmoothing, ReadsMapAndCovariance) {
  TheoryOptions options;
  options.smoothing.value_map = write_npy("w", {0, 2, 0, 0}, 2);
  options.smoothing.covariance = write_npy("s", {3, 1, 1, 5}, 2);
  const Document document = run_theory(options, "smoothing");
  EXPECT_EQ(document.cell("steps", 0, "R"), 8);
  EXPECT_EQ(document.cell("steps", 0, "C"), 2);
  EXPECT_EQ(document.cell("steps", 0, "E"), 20);
  EXPECT_EQ(document.json.at("settings").at("d"), 2);
}

TEST(TheorySmoothing, RefusesWhatIsNoStep) {
  const auto with = [](auto change) {
    TheoryOptions options;
    options.smoothing.width = 2;
    change(options.smoothing);
    return refused(options, "smoothing");
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string is_nan = write_npy("nan", {1, nan, 0, 1}, 2),
                    not_square = write_npy("flat", {1, 0, 0, 1, 2, 2}, 3),
                    wide = write_npy("wide", {1, 0, 0, 0, 1, 0, 0, 0, 1}, 3),
                    asymmetric = write_npy("asymmetric", {1, 0.5, 0, 1}, 2),
                    negative = write_npy("negative", {1, 2, 2, 1}, 2);
  EXPECT_EQ(with([&](auto& o) { o.value_map = is_nan; }), ErrorKind::kBadNumbers);
  EXPECT_EQ(with([&](auto& o) { o.value_map = not_square; }), ErrorKind::kUsage);
  EXPECT_EQ(with([&](auto& o) { o.value_map = wide; }), ErrorKind::kUsage);
  EXPECT_EQ(with([&](auto& o) { o.value_map = "identiy"; }), ErrorKind::kUsage);
  EXPECT_EQ(with([&](auto& o) { o.value_map = "absent.npy"; }), ErrorKind::kBadFile);
  EXPECT_EQ(with([&](auto& o) { o.covariance = asymmetric; }), ErrorKind::kUsage);
  EXPECT_EQ(with([&](auto& o) { o.covariance = negative; }), ErrorKind::kUsage);
  EXPECT_EQ(with([&](auto& o) { o.tokens = "0"; }), ErrorKind::kUsage);
  EXPECT_EQ(with([&](auto& o) { o.lambdas = {1.5}; }), ErrorKind::kUsage);
  EXPECT_EQ(with([&](auto& o) { o.scale = nan; }), ErrorKind::kUsage);
  EXPECT_EQ(with([&](auto& o) { o.draws = 10, o.width = 1024, o.tokens = "100000"; }),
            ErrorKind::kTooLarge);
}

TEST(TheorySmoothing, DegenerateStepsHaveAVerdict) {
  TheoryOptions options;
  options.smoothing.tokens = "1,8", options.smoothing.draws = 4;
  options.smoothing.width = 1, options.smoothing.norm = "layer";  // one channel, off its mean: 0
  const Document document = run_theory(options, "smoothing");
  EXPECT_EQ(document.code, 0);
  for (const size_t i : {0, 1}) EXPECT_EQ(document.cell("steps", i, "verdict"), "no data");
  EXPECT_TRUE(document.says("one token makes no pair"));
  EXPECT_TRUE(document.says("tokens of length 0"));
}

}  // namespace
}  // namespace sinkscope::app::test
