#include <cmath>

#include "tests/app/theory_document.h"

namespace sinkscope::app::test {
namespace {

TEST(TheorySwitch, LeadsAndAttention) {
  TheoryOptions options;
  options.attention_switch.margins = {4};
  options.attention_switch.others = "63", options.attention_switch.epsilons = {0.3};
  const Document document = run_theory(options, "switch");
  EXPECT_EQ(document.code, 0);
  const double bound = 1 / (1 + 63 * std::exp(-4.0));
  EXPECT_NEAR(document.cell("margins", 0, "bound").get<double>(), bound, 1e-15);
  EXPECT_NEAR(document.cell("margins", 0, "softmax").get<double>(), bound, 1e-13);
  EXPECT_GT(document.cell("margins", 0, "softmax_below").get<double>(), bound);
  EXPECT_NEAR(document.cell("needed", 0, "kappa").get<double>(), 4.9904, 5e-5);
}

// method.md section 10, test values.
TEST(TheorySwitch, ExamplesBreakThePremiseTheyAreFor) {
  const Document document = run_theory({}, "switch");
  const auto find = [&](const std::string& name) {
    for (size_t i = 0; i < document.rows("examples").size(); ++i) {
      if (document.cell("examples", i, "case") == name) return i;
    }
    throw std::runtime_error("no example " + name);
  };
  const auto value = [&](const std::string& name, const std::string& column) {
    return document.cell("examples", find(name), column).get<double>();
  };
  EXPECT_EQ(value("mixture", "ctx"), 0);
  EXPECT_EQ(value("mixture", "rho"), 0);
  EXPECT_EQ(value("mixture", "gV"), 0);
  EXPECT_EQ(value("mixture", "A_sink"), 0);
  EXPECT_EQ(value("self with zero value", "A_self"), 1);
  EXPECT_EQ(value("self with zero value", "ctx"), 0);
  EXPECT_NEAR(value("near sink", "off"), 0.04, 1e-15);
  EXPECT_NEAR(value("near sink", "bound"), 0.04, 1e-12);
  EXPECT_GT(value("opposed sink", "gV"), 0.9);
  EXPECT_EQ(value("opposed sink", "ctx"), 0);
  EXPECT_TRUE(document.cell("examples", find("opposed sink"), "bound").is_null());
  EXPECT_NEAR(value("half-space without switch", "g_all"), 0.5, 1e-12);
}

TEST(TheorySwitch, BoundsHoldAndAreAttainedOnRandomHeads) {
  TheoryOptions options;
  options.attention_switch.heads = 1500, options.seed = 5;
  const Document document = run_theory(options, "switch");
  EXPECT_EQ(document.code, 0);
  ASSERT_EQ(document.rows("bounds").size(), 4u);
  for (size_t b = 0; b < 4; ++b) {
    EXPECT_EQ(document.cell("bounds", b, "violations"), 0);
    EXPECT_GT(document.cell("bounds", b, "queries").get<double>(), 1000);
    EXPECT_NEAR(document.cell("bounds", b, "tightest").get<double>(), 1, 1e-6);
  }
}

TEST(TheorySwitch, RefusesWhatIsNoLead) {
  const auto with = [](auto change) {
    TheoryOptions options;
    change(options.attention_switch);
    return refused(options, "switch");
  };
  EXPECT_EQ(with([](auto& o) { o.epsilons = {0}; }), ErrorKind::kUsage);
  EXPECT_EQ(with([](auto& o) { o.epsilons = {1}; }), ErrorKind::kUsage);
  EXPECT_EQ(with([](auto& o) { o.others = std::string("0"); }), ErrorKind::kUsage);
  EXPECT_EQ(with([](auto& o) { o.margins = {1e4}; }), ErrorKind::kUsage);
  EXPECT_EQ(with([](auto& o) { o.margins = {std::nan("")}; }), ErrorKind::kUsage);
}

}  // namespace
}  // namespace sinkscope::app::test
