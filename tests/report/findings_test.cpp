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

TEST(Findings, SinksOfImagesAreNamedByTheirTokens) {  // VIT-2
  Sample sample = test::image_sample();
  sample.change = [](int64_t, Writer& out) {
    out.set("sink_index", 3, 1, 6), out.set("sink_index", 3, 2, 6), out.set("sink_index", 3, 3, 1);
  };
  const auto text = [&](const char* key) {
    const auto findings = findings_of(sample);
    const Finding* found = find(findings, key);
    return found ? found->text : std::string();
  };
  EXPECT_TRUE(text("sink_rate").find("sink on CLS:") != std::string::npos) << text("sink_rate");
  EXPECT_EQ(text("other_positions"),
            "3 heads have a sink elsewhere than on CLS, most often on patch (1, 1).");
  EXPECT_TRUE(text("strong_layers").starts_with("Sinks on CLS in layers 2-3"));
  EXPECT_NE(text("norm_writer").find("the norm of CLS most"), std::string::npos);
  EXPECT_NE(text("massive").find("channel 3 of CLS holds"), std::string::npos);

  sample.facts.labels.clear();  // the grid alone names the patches
  EXPECT_EQ(text("other_positions"),
            "3 heads have a sink elsewhere than on position 0, most often on patch (1, 1).");

  sample = test::image_sample();  // of different grids: a position is no patch
  sample.change = [](int64_t, Writer& out) { out.set("sink_index", 3, 1, 6); };
  sample.facts.patch_rows = 0, sample.facts.patch_columns = 0;
  EXPECT_EQ(text("other_positions"),
            "1 head has a sink elsewhere than on CLS, most often on position 6.");
}

TEST(Findings, NamesOfAStoreAreData) {
  Sample sample = test::image_sample();
  sample.facts.labels[0][0] = "a\x1B[2J";
  EXPECT_NE(find(findings_of(sample), "sink_rate")->text.find("a\\x1B[2J"), std::string::npos);
  sample.facts.prefix_tokens = 0, sample.facts.patch_rows = 4, sample.facts.patch_columns = 2;
  sample.change = [](int64_t, Writer& out) { out.set("sink_index", 3, 1, 1e300); };
  EXPECT_NE(find(findings_of(sample), "other_positions")->text.find("position 1000000000"),
            std::string::npos);
}

TEST(Findings, NothingIsSaidOfNothing) {
  Sample sample;
  sample.sequences = 0;
  EXPECT_TRUE(findings_of(sample).empty());
}

}  // namespace
}  // namespace sinkscope::report
