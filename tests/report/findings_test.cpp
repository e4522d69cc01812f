#include "sinkscope/report/findings.h"

#include <gtest/gtest.h>

#include "tests/report/sample_run.h"

namespace sinkscope::report {
namespace {

using test::Sample;
using test::Writer;

const Finding* find(const std::vector<Finding>& findings, const std::string& key) {
  for (const Finding& finding : findings) {
    if (finding.key == key) return &finding;
  }
  return nullptr;
}

std::vector<Finding> findings_of(const Sample& sample) {
  return find_findings(test::read_sample(sample));
}

TEST(Findings, TwoStagesAreFoundFromTheNumbers) {
  const auto findings = findings_of({});
  const Finding* strong = find(findings, "strong_layers");
  ASSERT_TRUE(strong);
  EXPECT_EQ(strong->layer, 2);
  EXPECT_NE(strong->text.find("weak in layers 0-1"), std::string::npos) << strong->text;
  EXPECT_NE(strong->text.find("strong in layers 2-3"), std::string::npos) << strong->text;
}

TEST(Findings, EvenDepthIsNoStory) {
  Sample sample;
  sample.change = [](int64_t id, Writer& out) {
    for (int l = 0; l < 4; ++l) {
      for (int h = 0; h < 4; ++h) test::fill_head(out, l, h, id, true);
    }
  };
  const auto findings = findings_of(sample);
  EXPECT_FALSE(find(findings, "strong_layers"));
  EXPECT_TRUE(find(findings, "even_layers"));
}

TEST(Findings, SharesAreOfEventsNotOfHeads) {
  const auto findings = findings_of({});
  const Finding* classes = find(findings, "classes");
  ASSERT_TRUE(classes);
  // 2 layers x (4 nop + 4 broadcast + 3 other)
  EXPECT_EQ(classes->text,
            "Of 22 sink events 36 % do nothing (NOP), 36 % broadcast, 27 % are neither.");
  EXPECT_DOUBLE_EQ(classes->number, 8.0 / 22);
}

TEST(Findings, WriterIsTheBlockWithTheLargestJump) {
  const auto findings = findings_of({});
  const Finding* writer = find(findings, "norm_writer");
  ASSERT_TRUE(writer);
  EXPECT_EQ(writer->layer, 2);
  EXPECT_EQ(writer->view, "circuit");

  Sample first;  // the embedding counts as what stands before block 0
  first.change = [](int64_t, Writer& out) {
    for (int l = 0; l < 4; ++l) out.set("resid_norm_p0", l, 0, 4000);
  };
  const auto from_embedding = findings_of(first);
  ASSERT_TRUE(find(from_embedding, "norm_writer"));
  EXPECT_EQ(find(from_embedding, "norm_writer")->layer, 0);

  Sample flat;
  flat.change = [](int64_t, Writer& out) {
    for (int l = 0; l < 4; ++l) out.set("resid_norm_p0", l, 0, 8);
  };
  EXPECT_FALSE(find(findings_of(flat), "norm_writer"));
}

TEST(Findings, MassiveNeedsBothRules) {
  EXPECT_TRUE(find(findings_of({}), "massive"));
  Sample near;
  near.change = [](int64_t, Writer& out) {
    for (int l = 2; l < 4; ++l) out.set("median_abs", l, 0, 8);  // 4000 is 500 times that
  };
  const auto findings = findings_of(near);
  EXPECT_FALSE(find(findings, "massive"));
  EXPECT_TRUE(find(findings, "no_massive"));
}

TEST(Findings, SinksOnOtherPositionsAreCounted) {
  Sample sample;
  sample.change = [](int64_t, Writer& out) { out.set("sink_index", 3, 1, 5); };
  const auto findings = findings_of(sample);
  ASSERT_TRUE(find(findings, "other_positions"));
  EXPECT_EQ(find(findings, "other_positions")->number, 1);
  EXPECT_NE(find(findings, "other_positions")->text.find("position 5"), std::string::npos);
  EXPECT_FALSE(find(findings_of({}), "other_positions"));
}

TEST(Findings, NoSinkNamesTheLargest) {
  Sample sample;
  sample.change = [](int64_t, Writer& out) {
    for (int l = 2; l < 4; ++l) {
      for (int h = 0; h < 4; ++h) test::fill_head(out, l, h, 0, false);
    }
    out.set("alpha_sink", 1, 2, 0.28125), out.set("sink_index", 1, 2, 0);
  };
  const auto findings = findings_of(sample);
  const Finding* none = find(findings, "no_sink");
  ASSERT_TRUE(none);
  EXPECT_EQ(none->layer, 1);
  EXPECT_EQ(none->head, 2);
  EXPECT_EQ(none->text,
            "No head has a sink: the most that one key receives on average is 0.281 (L1H2 on "
            "position 0), a sink "
            "needs more than 0.3.");
  EXPECT_FALSE(find(findings, "sink_rate"));
  EXPECT_FALSE(find(findings, "classes"));
}

TEST(Findings, NothingIsSaidOfNothing) {
  Sample sample;
  sample.sequences = 0;
  EXPECT_TRUE(findings_of(sample).empty());
}

}  // namespace
}  // namespace sinkscope::report
