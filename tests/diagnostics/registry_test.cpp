#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "sinkscope/base/error.h"
#include "sinkscope/diagnostics/diagnostic.h"

namespace sinkscope::diagnostics {
namespace {

std::filesystem::path here() { return std::filesystem::path(__FILE__).parent_path(); }

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Registry, EveryDiagnosticHasItsPageItsTestAndItsIndexLine) {
  const auto docs = here() / "../../docs/diagnostics";
  const std::string index = read_text(docs / "README.md");
  for (const Diagnostic& diagnostic : all_diagnostics()) {
    const std::string name(diagnostic.name);
    const std::string page = read_text(docs / (name + ".md"));
    EXPECT_FALSE(page.empty()) << "docs/diagnostics/" << name << ".md";
    EXPECT_TRUE(std::filesystem::exists(here() / (name + "_test.cpp"))) << name << "_test.cpp";
    EXPECT_NE(index.find("(" + name + ".md)"), std::string::npos) << name << " in the index";
    const std::string picture = "images/diagnostics/" + name + ".png";
    EXPECT_NE(page.find(picture), std::string::npos) << "no picture in " << name << ".md";
    EXPECT_TRUE(std::filesystem::exists(docs / ".." / picture)) << picture;
    for (const MetricInfo& metric : diagnostic.metrics) {
      EXPECT_NE(page.find(fmt::format("`{}`", metric.name)), std::string::npos)
          << metric.name << " in the page of " << name;
    }
  }
}

TEST(Registry, NamesAreUniqueAndEveryMetricIsDefined) {
  std::set<std::string_view> diagnostics, metrics;
  for (const Diagnostic& diagnostic : all_diagnostics()) {
    EXPECT_TRUE(diagnostics.insert(diagnostic.name).second) << diagnostic.name;
    EXPECT_TRUE(diagnostic.measure_layer != nullptr || diagnostic.measure_sequence != nullptr)
        << diagnostic.name;
    EXPECT_FALSE(diagnostic.metrics.empty()) << diagnostic.name;
    for (const MetricInfo& metric : diagnostic.metrics) {
      EXPECT_TRUE(metrics.insert(metric.name).second) << metric.name;
      EXPECT_FALSE(metric.definition.empty()) << metric.name;
      EXPECT_GE(metric.width, 1) << metric.name;
    }
  }
}

TEST(Registry, RowsStandBelowTheRowsTheyRead) {
  std::vector<std::string_view> names;
  for (const Diagnostic& diagnostic : all_diagnostics()) names.push_back(diagnostic.name);
  const std::vector<std::string_view> expected = {
      "sink",      "values",    "update",     "update_all",  "mechanism", "massive",
      "residual",  "branches",  "similarity", "loss",        "qk",        "selection",
      "smoothing", "switch",    "mlp",        "conditional", "types",     "circuit",
      "range",     "recommend", "geometry",   "cost"};
  EXPECT_EQ(names, expected);
}

TEST(Registry, LooksUpByName) {
  EXPECT_EQ(find_diagnostic("massive").name, "massive");
  EXPECT_FALSE(find_diagnostic("qk").plain);
  ASSERT_NE(find_metric("ratio_out"), nullptr);
  EXPECT_EQ(find_metric("alpha")->width, 4);
  EXPECT_EQ(find_metric("class")->aggregate, Aggregate::kMode);
  EXPECT_EQ(find_metric("ratio"), nullptr);
}

TEST(Registry, AnUnknownNameListsTheKnownOnes) {
  try {
    find_diagnostic("sinks");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::kUsage);
    EXPECT_NE(error.seen.find("\"sinks\""), std::string::npos);
    EXPECT_NE(error.hint.find("sink, values, update"), std::string::npos);
  }
}

TEST(Record, HoldsNoDataUntilWritten) {
  constexpr MetricInfo kPair{"pair", Scope::kHead, 2, Aggregate::kMean, "", ""};
  constexpr MetricInfo kSingle{"single", Scope::kLayer, 1, Aggregate::kMean, "", ""};
  Record record(3, 4);
  EXPECT_TRUE(record.find("pair", 1).empty());
  record.values(kPair, 1)[5] = 7;
  ASSERT_EQ(record.find("pair", 1).size(), 8u);
  EXPECT_EQ(record.find("pair", 1)[5], 7);
  EXPECT_TRUE(std::isnan(record.find("pair", 1)[4]));
  EXPECT_TRUE(record.find("pair", 0).empty());  // that layer was never measured
  EXPECT_EQ(record.values(kSingle, 2).size(), 1u);
  EXPECT_TRUE(record.find("pair", 3).empty());
  EXPECT_THROW(record.values(kPair, 3), Error);
  EXPECT_THROW(record.values(kPair, -1), Error);
}

TEST(Record, MoreHeadsThanTheRecordHoldsIsOurOwnBug) {
  Record record(1, 1);
  LayerInput input;
  input.heads.resize(2);
  EXPECT_THROW(find_diagnostic("sink").measure_layer(input, {}, record), Error);
}

}  // namespace
}  // namespace sinkscope::diagnostics
