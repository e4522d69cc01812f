#include "sinkscope/report/json.h"

#include <gtest/gtest.h>

#include <sstream>

#include "sinkscope/base/error.h"
#include "tests/report/golden.h"
#include "tests/report/sample_run.h"

namespace sinkscope::report {
namespace {

using test::read_sample;
using test::Sample;
using test::Writer;

std::string scan_text(const Sample& sample) {
  std::ostringstream out;
  write_json(read_sample(sample), out);
  return out.str();
}

std::vector<std::string> keys(const nlohmann::ordered_json& object) {
  std::vector<std::string> names;
  for (const auto& item : object.items()) names.push_back(item.key());
  return names;
}

TEST(ScanJson, IsTheGoldenDocument) { test::expect_golden("scan.json", scan_text({})); }

TEST(ScanJson, HasTheKeysOfProductMdInTheirOrder) {
  const auto scan = scan_document(read_sample({}));
  using Names = std::vector<std::string>;
  EXPECT_EQ(keys(scan), (Names{"schema", "tool", "model", "inputs", "thresholds", "summary",
                               "heads", "layers", "advice", "warnings", "timing"}));
  EXPECT_EQ(keys(scan["model"]),
            (Names{"path", "format", "family", "sha256", "layers", "heads", "kv_heads", "head_dim",
                   "d_model", "vocab", "parameters", "causal", "dtype", "weights"}));
  EXPECT_EQ(keys(scan["inputs"]), (Names{"kind", "sequences", "seq_len", "skipped", "bos", "bos_id",
                                         "first_tokens", "sha256", "patch_grid"}));
  const auto starts_with = [](const Names& all, const Names& first) {
    return all.size() >= first.size() && std::equal(first.begin(), first.end(), all.begin());
  };
  EXPECT_TRUE(
      starts_with(keys(scan["summary"]), {"sink_rate", "sink_rate_from_layer_2", "formation_layer",
                                          "classes", "massive_channels", "loss", "perplexity"}));
  EXPECT_TRUE(starts_with(keys(scan["heads"][0]),
                          {"layer", "head", "kv_head", "alpha", "sink_share", "sink_index",
                           "sink_index_share", "event_share", "class", "ratio_head", "ratio_out",
                           "stable_rank", "common_mode", "entropy", "self_mass", "qk_top_share"}));
  EXPECT_TRUE(starts_with(keys(scan["layers"][0]),
                          {"layer", "resid_norm_p0", "resid_norm_median", "top_activations",
                           "median_abs", "cos_p0_max", "cos_p0_mean", "cos_pair_mean"}));
}

TEST(ScanJson, SummaryCounts) {
  const auto summary = scan_document(read_sample({}))["summary"];
  EXPECT_DOUBLE_EQ(summary["sink_rate"], 0.5);
  EXPECT_DOUBLE_EQ(summary["sink_rate_from_layer_2"], 1.0);
  EXPECT_EQ(summary["formation_layer"], 2);
  EXPECT_EQ(summary["classes"].dump(), R"({"none":10,"nop":2,"broadcast":2,"other":2})");
  EXPECT_EQ(summary["massive_channels"].dump(), "[3]");
  EXPECT_DOUBLE_EQ(summary["loss"], 2.75);
  EXPECT_DOUBLE_EQ(summary["perplexity"], std::exp(2.75));
}

TEST(ScanJson, NoDataIsNullAndNeverNan) {
  Sample sample;
  sample.change = [](int64_t, Writer& out) {
    out.set("entropy", 1, 2, INFINITY);
    out.set("self_mass", 0, 0, NAN);
    out.set("loss", 0, 0, NAN);
  };
  const std::string text = scan_text(sample);
  const auto scan = nlohmann::json::parse(text);  // strict
  EXPECT_TRUE(scan["heads"][0]["self_mass"].is_null());
  EXPECT_TRUE(scan["heads"][6]["entropy"].is_null());
  EXPECT_TRUE(scan["heads"][0]["ratio_out"].is_null());  // no event there
  EXPECT_FALSE(scan["heads"][0]["ratio_out_all"].is_null());
  EXPECT_TRUE(scan["summary"]["loss"].is_null());
  EXPECT_TRUE(scan["summary"]["perplexity"].is_null());
}

TEST(ScanJson, LeavesOutLayersThatWereNotMeasured) {
  Sample sample;
  sample.layers = 2;
  sample.facts.layers = 30, sample.facts.heads = 4;
  const auto scan = scan_document(read_sample(sample));
  EXPECT_EQ(scan["model"]["layers"], 30);
  EXPECT_EQ(scan["layers"].size(), 2u);
  EXPECT_EQ(scan["heads"].size(), 8u);
}

TEST(ScanJson, TooShortHeadsAreInNoClass) {
  Sample sample;
  sample.change = [](int64_t, Writer& out) {
    out.set("class", 0, 0, 4), out.set("event", 0, 0, NAN), out.set("sink_index", 0, 0, NAN);
  };
  const auto scan = scan_document(read_sample(sample));
  EXPECT_EQ(scan["heads"][0]["class"], "too_short");
  EXPECT_TRUE(scan["heads"][0]["sink_index"].is_null());
  EXPECT_EQ(scan["summary"]["classes"]["none"], 9);
}

TEST(ScanJson, KvHeadIsTheGroup) {
  const auto heads = scan_document(read_sample({}))["heads"];
  EXPECT_EQ(heads[1]["kv_head"], 0);
  EXPECT_EQ(heads[2]["kv_head"], 1);
}

TEST(ScanJson, PatchGridIsOfImagesWithOneGrid) {
  EXPECT_TRUE(scan_document(read_sample({}))["inputs"]["patch_grid"].is_null());
  Sample sample = test::image_sample();
  EXPECT_EQ(scan_document(read_sample(sample))["inputs"]["patch_grid"].dump(),
            R"({"rows":2,"columns":3,"prefix":2})");
  sample.facts.patch_rows = 0, sample.facts.patch_columns = 0;  // of different grids
  EXPECT_TRUE(scan_document(read_sample(sample))["inputs"]["patch_grid"].is_null());
}

TEST(ScanJson, PatchGridThatDoesNotFitIsRefusedNamingTheNumbers) {
  const auto seen = [](int64_t rows, int64_t columns, int64_t prefix, int sequences = 1) {
    Sample sample = test::image_sample();
    sample.sequences = sequences;
    sample.facts.patch_rows = rows, sample.facts.patch_columns = columns;
    sample.facts.prefix_tokens = prefix;
    try {
      scan_document(read_sample(sample));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, ErrorKind::kBadFile);
      return error.seen;
    }
    return std::string();
  };
  EXPECT_EQ(seen(3, 2, 2), "");
  EXPECT_EQ(seen(3, 3, 2), "sequence 0 has 8 tokens, the images have 2 + 3 x 3");
  EXPECT_EQ(seen(2, 3, 1), "sequence 0 has 8 tokens, the images have 1 + 2 x 3");
  EXPECT_EQ(seen(1, 3, 9), "sequence 0 has 8 tokens, the images have 9 + 1 x 3");
  EXPECT_EQ(seen(int64_t{1} << 62, 4, 8),
            "sequence 0 has 8 tokens, the images have 8 + 4611686018427387904 x 4");
  EXPECT_EQ(seen(2, 0, 2, 0), "images of 2 + 2 x 0 tokens");
  EXPECT_EQ(seen(-2, -3, 2), "images of 2 + -2 x -3 tokens");
}

TEST(RunJson, HoldsIdsLabelsAndIdentityOfHostileText) {
  Sample sample;
  sample.facts.labels = {
      {"</script>", "\"", "\\", "\n", "\xF0\x9F", "\x01", "<!--", "\xF0\x9F\xA4\x97"}};
  sample.facts.model_path = "a\"b\xFF";
  std::ostringstream out;
  write_run_json(read_sample(sample), out);
  const auto run = nlohmann::json::parse(out.str());
  EXPECT_EQ(run["schema"], "sinkscope.run/1");
  const auto labels = run["sequences"][0]["labels"].get<std::vector<std::string>>();
  EXPECT_EQ(labels, (std::vector<std::string>{"</script>", "\"", "\\", "\n", "\\xF0\\x9F", "\x01",
                                              "<!--", "\xF0\x9F\xA4\x97"}));
  EXPECT_TRUE(run["sequences"][1]["labels"].empty());
  EXPECT_EQ(run["sequences"][1]["ids"].size(), 8u);
  EXPECT_EQ(run["model"]["path"], "a\"b\\xFF");
  EXPECT_EQ(run["identity"]["seed"], 0);
}

}  // namespace
}  // namespace sinkscope::report
