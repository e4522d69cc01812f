#include "sinkscope/report/html.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "sinkscope/base/error.h"
#include "sinkscope/report/json.h"
#include "tests/report/golden.h"
#include "tests/report/sample_run.h"

namespace sinkscope::report {
namespace {

using test::Sample;
using test::Writer;

constexpr std::string_view kBundle =
    "<html><body><script id=\"data\" "
    "type=\"application/json\"></script><script>run()</script></body></html>";

std::string page(const Sample& sample, std::string_view bundle = kBundle) {
  const auto store = sample.make();
  std::ostringstream out;
  write_html(*store, store::read_run(*store), bundle, out);
  return out.str();
}

nlohmann::ordered_json document(const Sample& sample) {
  const auto store = sample.make();
  return page_document(*store, store::read_run(*store));
}

/// What a browser would read between the tags.
nlohmann::json embedded_data(const std::string& html) {
  const std::string start = "<script id=\"data\" type=\"application/json\">";
  const size_t from = html.find(start) + start.size();
  return nlohmann::json::parse(html.substr(from, html.find("</script", from) - from));
}

TEST(Page, DocumentIsGolden) {
  std::ostringstream out;
  auto data = document({});
  data.erase("scan");  // has a golden file of its own
  write_document(data, out);
  test::expect_golden("page.json", out.str());
}

TEST(Page, DataStandBetweenTheTagsOfTheMarker) {
  const std::string html = page({});
  EXPECT_TRUE(html.starts_with("<html><body><script id=\"data\" type=\"application/json\">{"));
  EXPECT_TRUE(html.ends_with("}</script><script>run()</script></body></html>"));
  EXPECT_EQ(embedded_data(html)["scan"]["schema"], "sinkscope.scan/1");
}

TEST(Page, NoTextCanLeaveTheData) {
  Sample sample;
  const std::vector<std::string> labels = {"</script>", "<!--", "\"",   "\\u003c",
                                           "<script>",  "\n",   "\x02", "ok"};
  sample.facts.labels = {labels};
  sample.facts.model_path = "</SCRIPT ><img src=x>";
  sample.facts.warnings = {"<b>"};
  const std::string html = page(sample);
  EXPECT_EQ(std::count(html.begin(), html.end(), '<'),
            std::count(kBundle.begin(), kBundle.end(), '<'));
  const auto data = embedded_data(html);
  EXPECT_EQ(data["sequences"][0]["labels"].get<std::vector<std::string>>(), labels);
  EXPECT_EQ(data["scan"]["model"]["path"], "</SCRIPT ><img src=x>");
}

TEST(Page, MoreTokensThanLabelsIsRefusedNamingBoth) {
  Sample sample;
  sample.tokens = 1024, sample.sequences = 1;
  sample.facts.labels = {std::vector<std::string>(976, "a")};
  try {
    page(sample);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::kBadFile);
    EXPECT_NE(error.seen.find("1024"), std::string::npos) << error.seen;
    EXPECT_NE(error.seen.find("976"), std::string::npos) << error.seen;
  }
}

TEST(Page, EachLabelStaysApart) {
  Sample sample;
  sample.tokens = 3, sample.sequences = 1;
  sample.facts.labels = {{"\xF0\x9F", "\xA4", "\x97"}};  // one emoji over three tokens
  EXPECT_EQ(document(sample)["sequences"][0]["labels"].dump(), R"(["\\xF0\\x9F","\\xA4","\\x97"])");
}

TEST(Page, PointsAreTheEvents) {
  const auto data = document({});
  EXPECT_EQ(data["points_total"], 22);
  ASSERT_EQ(data["points"].size(), 22u);
  EXPECT_EQ(data["points"][0].dump(), "[0,2,1,0,0.625,1,0.5625,0.0625,1.25,1]");
}

TEST(Page, TooManyPointsAreASampleThatTheSeedDecides) {
  Sample sample;
  sample.layers = 40, sample.heads = 32, sample.kv_heads = 32, sample.sequences = 24,
  sample.curves = false;
  sample.change = [&](int64_t, Writer& out) {
    for (int l = 0; l < 40; ++l) {
      for (int h = 0; h < 32; ++h) out.set("event", l, h, 1);
    }
  };
  const auto first = document(sample);
  EXPECT_EQ(first["points_total"], 24 * 40 * 32);
  EXPECT_EQ(first["points"].size(), 20000u);
  EXPECT_TRUE(first["alpha"].is_null());
  EXPECT_EQ(document(sample)["points"], first["points"]);
  std::set<int> heads;
  for (const auto& point : first["points"]) heads.insert(point[2].get<int>());
  EXPECT_EQ(heads.size(), 32u);
  sample.identity.seed = 1;
  EXPECT_NE(document(sample)["points"], first["points"]);
}

TEST(Page, SizeGrowsWithTheTokensNotWithTheirSquare) {
  const auto bytes = [](int64_t tokens) {
    Sample sample;
    sample.layers = 12, sample.heads = 12, sample.kv_heads = 12, sample.tokens = tokens,
    sample.sequences = 1;
    return static_cast<double>(page(sample).size());
  };
  const double short_page = bytes(64), long_page = bytes(4096);
  EXPECT_LT(long_page, short_page + 64 * 12 * 12 * 64 * 10.0);
}

TEST(Page, BundleWithoutOneMarkerIsOurMistake) {
  EXPECT_THROW(page({}, "<html></html>"), Error);
  EXPECT_THROW(page({}, std::string(kBundle) + std::string(kBundle)), Error);
}

TEST(Page, EmbeddedBundleTakesTheData) {
  const std::string html = page({}, page_bundle());
  EXPECT_EQ(embedded_data(html)["schema"], "sinkscope.page/1");
}

}  // namespace
}  // namespace sinkscope::report
