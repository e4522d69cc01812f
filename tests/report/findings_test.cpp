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

TEST(Findings, TheLayersThatSinkAreARange) {
  const auto findings = findings_of({});
  const Finding* strong = find(findings, "strong_layers");
  ASSERT_TRUE(strong);
  EXPECT_EQ(strong->layer, 2);
  EXPECT_NE(strong->text.find("Sinks on position 0 in layers 2-3 (sink rate"), std::string::npos)
      << strong->text;
}

TEST(Findings, TwoRangesAreToldApartByTheirStrength) {
  Sample sample;
  sample.change = [](int64_t, Writer& out) {
    for (int h = 0; h < 4; ++h) {  // half of the heads of layer 0 sink, none of layer 1
      out.set("alpha", 0, 4 * h, h < 2 ? 0.4 : 0.0625), out.set("plain_rate", 0, 4 * h, h < 2);
      out.set("alpha", 1, 4 * h, 0.03125), out.set("plain_rate", 1, 4 * h, 0);
    }
  };
  const auto findings = findings_of(sample);
  const Finding* strong = find(findings, "strong_layers");
  ASSERT_TRUE(strong);
  EXPECT_EQ(strong->layer, 2);
  EXPECT_NE(strong->text.find("Strong sinks on position 0 in layers 2-3"), std::string::npos);
  EXPECT_NE(strong->text.find("weaker ones in layer 0 (50 %, mean alpha_0 0.231)"),
            std::string::npos)
      << strong->text;
}

TEST(Findings, NearMissAFifthOfTheHeadsIsNoSinkingLayer) {
  Sample sample;
  sample.change = [](int64_t id, Writer& out) {
    for (int l = 0; l < 4; ++l) {
      for (int h = 0; h < 4; ++h) out.set("plain_rate", l, 4 * h, l == 3 && h == 0 && id == 0);
    }
  };
  const auto findings = findings_of(sample);
  EXPECT_FALSE(find(findings, "strong_layers"));
  EXPECT_TRUE(find(findings, "no_sink_layer"));
}

TEST(Findings, TheWriterIsNamedOnlyWhenOneBranchDoesIt) {
  const auto text = [](double attention, double mlp) {
    Sample sample;
    sample.change = [=](int64_t, Writer& out) {
      out.set("attn_out_norm_p0", 2, 0, attention), out.set("mlp_out_norm_p0", 2, 0, mlp);
    };
    return find(findings_of(sample), "norm_writer")->text;
  };
  EXPECT_TRUE(text(3, 400).starts_with("The MLP of block 2 raises"));
  EXPECT_TRUE(text(400, 3).starts_with("The attention of block 2 raises"));
  EXPECT_TRUE(text(300, 400).starts_with("Block 2 raises"));
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
