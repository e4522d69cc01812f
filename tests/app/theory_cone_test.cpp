#include "tests/app/theory_document.h"

namespace sinkscope::app::test {
namespace {

// method.md section 12, test values: positions 0, 1, 4, 49 average 1, 2, 5, 50 values.
TEST(TheoryCone, UniformAttention) {
  const Document document = run_theory({}, "cone");
  EXPECT_EQ(document.code, 0);
  ASSERT_EQ(document.rows("positions").size(), 50u);
  const size_t at[] = {0, 1, 4, 49};
  const double square[] = {1, 0.58, 0.328, 0.1768}, direction[] = {0.4, 0.5252, 0.6984, 0.9513};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(document.cell("positions", at[i], "square").get<double>(), square[i], 1e-12);
    EXPECT_NEAR(document.cell("positions", at[i], "direction").get<double>(), direction[i], 5e-5);
    EXPECT_NEAR(document.cell("positions", at[i], "square_mc").get<double>(), square[i], 0.01);
    EXPECT_NEAR(document.cell("positions", at[i], "direction_mc").get<double>(), direction[i],
                0.01);
  }
  EXPECT_EQ(document.cell("asymmetry", 0, "verdict"), "length");
  EXPECT_TRUE(document.says("least consistent at position 0"));
}

// A window of one key: every position is its own value, as position 0 is.
TEST(TheoryCone, NearMissesHaveNoLongPosition) {
  TheoryOptions options;
  options.cone.tokens = "6";
  options.cone.attention = "local:1";
  EXPECT_EQ(run_theory(options, "cone").cell("asymmetry", 0, "verdict"), "not by length");
  options.cone.attention = "uniform", options.cone.alphas = {1};  // equal values
  EXPECT_EQ(run_theory(options, "cone").cell("asymmetry", 0, "verdict"), "not by length");
  options.cone.tokens = "1";
  EXPECT_EQ(run_theory(options, "cone").cell("asymmetry", 0, "verdict"), "one position");
}

TEST(TheoryCone, SinkAndWindowRows) {
  TheoryOptions options;
  options.cone.tokens = "5", options.cone.draws = 0;
  options.cone.attention = "sink:0.4";
  Document document = run_theory(options, "cone");
  EXPECT_NEAR(document.cell("positions", 4, "sum_p2").get<double>(), 0.16 + 4 * 0.15 * 0.15, 1e-15);
  EXPECT_TRUE(document.cell("positions", 4, "square_mc").is_null());
  options.cone.attention = "local:2";
  document = run_theory(options, "cone");
  EXPECT_EQ(document.cell("positions", 0, "sum_p2"), 1);
  EXPECT_EQ(document.cell("positions", 4, "sum_p2"), 0.5);
}

TEST(TheoryCone, GivenWeights) {
  TheoryOptions options;
  options.cone.attention = write_npy("p", {0.5, 0.5, 0, 1}, 2);
  const Document document = run_theory(options, "cone");
  EXPECT_EQ(document.code, 0);
  EXPECT_EQ(document.cell("positions", 0, "sum_p2"), 0.5);
  EXPECT_TRUE(document.says("gives weight to later positions"));
  EXPECT_TRUE(document.says("some other position has a less consistent direction"));
}

TEST(TheoryCone, RefusesWhatIsNoCone) {
  const auto with = [](auto change) {
    TheoryOptions options;
    change(options.cone);
    return refused(options, "cone");
  };
  const std::string sum = write_npy("sum", {1, 0, 0.6, 0.6}, 2),
                    negative = write_npy("negative", {1, 0, 1.5, -0.5}, 2),
                    flat = write_npy("flat", {1, 0}, 2);
  EXPECT_EQ(with([&](auto& o) { o.attention = sum; }), ErrorKind::kUsage);
  EXPECT_EQ(with([&](auto& o) { o.attention = negative; }), ErrorKind::kUsage);
  EXPECT_EQ(with([&](auto& o) { o.attention = flat; }), ErrorKind::kUsage);
  for (const char* attention : {"local", "local:0", "local:x", "sink:1.5", "sink:", "sinks"}) {
    EXPECT_EQ(with([&](auto& o) { o.attention = attention; }), ErrorKind::kUsage) << attention;
  }
  EXPECT_EQ(with([](auto& o) { o.width = 1; }), ErrorKind::kUsage);
  EXPECT_EQ(with([](auto& o) { o.tokens = "0"; }), ErrorKind::kUsage);
  EXPECT_EQ(with([](auto& o) { o.alphas = {1.1}; }), ErrorKind::kUsage);
}

// method.md section 12: x = (100, 0, ..), 0.5 per channel.
TEST(TheoryCone, NormStability) {
  TheoryOptions options;
  options.cone.norm_stability = true;
  options.cone.norms = {1, 100}, options.cone.steps = {0.5};
  const Document document = run_theory(options, "cone");
  EXPECT_EQ(document.code, 0);
  EXPECT_EQ(document.cell("norm_stability", 0, "holds"), "no");
  EXPECT_NEAR(document.cell("norm_stability", 1, "change").get<double>(), 9e-3, 5e-4);
  EXPECT_NEAR(document.cell("norm_stability", 1, "error").get<double>(), 6e-5, 5e-6);
  EXPECT_LT(document.cell("norm_stability", 1, "relative_error").get<double>(), 0.05);
  options.cone.norms = {0};
  EXPECT_EQ(refused(options, "cone"), ErrorKind::kUsage);
}

}  // namespace
}  // namespace sinkscope::app::test
