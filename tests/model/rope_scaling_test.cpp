// Frequencies of the reference implementation's own functions (ROPE_INIT_FUNCTIONS of transformers
// 5.24, float32) for heads of 16.

#include <gtest/gtest.h>

#include <cmath>

#include "sinkscope/model/family.h"
#include "tests/io/files.h"
#include "tests/model/gguf_writer.h"
#include "tests/support/paths.h"

namespace sinkscope::model {
namespace {

using io::test::expect_error;

constexpr int64_t kHeadWidth = 16;

Rope rope_of(const std::string& json, std::string_view layer_type = {}) {
  return read_rope(io::Config::parse(json, "config.json"), kHeadWidth, layer_type);
}

/// `keys` of rope_scaling beside a context of 4096 and a base of 10000.
std::string scaling(const std::string& keys) {
  return R"({"max_position_embeddings": 4096, "rope_theta": 10000.0, "rope_scaling": {)" + keys +
         "}}";
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i] / expected[i], 1, 2e-6) << i;
}

const std::vector<double> kPlain = {1,    0.316227764,   0.100000001,   0.0316227786,
                                    0.01, 0.00316227786, 0.00100000005, 0.000316227786};
const std::vector<double> kYarn = {1,
                                   0.316227764,
                                   0.0812500045,
                                   0.0197642371,
                                   0.00437500002,
                                   0.000790569466,
                                   0.000250000012,
                                   7.90569466e-05};

TEST(Yarn, RampAndMagnitude) {
  const std::string keys = R"("factor": 4.0, "original_max_position_embeddings": 1024)";
  for (const std::string& json :
       {scaling(R"("rope_type": "yarn", )" + keys), scaling(R"("type": "yarn", )" + keys),
        R"({"rope_parameters": {"rope_type": "yarn", "rope_theta": 10000.0, )" + keys + "}}"}) {
    SCOPED_TRACE(json);
    const Rope rope = rope_of(json);
    expect_near(rope.inverse_frequency, kYarn);
    EXPECT_NEAR(rope.magnitude, 1.138629436111989, 1e-12);
    EXPECT_EQ(rope.original_context, 0);  // the same frequencies at every length
  }
}

TEST(Yarn, RampWithoutRounding) {
  const Rope rope = rope_of(R"({"rope_theta": 150000.0, "rope_scaling": {"rope_type": "yarn",
      "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": false,
      "original_max_position_embeddings": 4096}})");
  expect_near(rope.inverse_frequency, {1, 0.225418001, 0.0508132726, 0.00679495931, 0.000456483918,
                                       1.8188337e-05, 4.09997847e-06, 9.24208962e-07});
  EXPECT_NEAR(rope.magnitude, 1.3465735902799727, 1e-12);
}

TEST(Yarn, OtherTurnsAndMagnitudes) {
  const std::string keys = R"("type": "yarn", "original_max_position_embeddings": 1024, )"
                           R"("mscale": 1.0, "mscale_all_dim": 0.8, )";
  const Rope turns = rope_of(scaling(keys + R"("factor": 40, "beta_fast": 16, "beta_slow": 2)"));
  expect_near(turns.inverse_frequency, {1, 0.316227764, 0.100000001, 0.0162066743, 0.000250000012,
                                        7.90569466e-05, 2.49999994e-05, 7.90569447e-06});
  EXPECT_NEAR(turns.magnitude, 1.0569662567531275, 1e-12);
  const Rope given = rope_of(scaling(keys + R"("factor": 4.0, "attention_factor": 1.25)"));
  expect_near(given.inverse_frequency, kYarn);
  EXPECT_EQ(given.magnitude, 1.25);
}

/// The factor is how much longer the context has become, where the key is absent or null.
TEST(Yarn, FactorFromTheContexts) {
  const std::string keys = R"("type": "yarn", "original_max_position_embeddings": 1024)";
  expect_near(rope_of(scaling(keys)).inverse_frequency, kYarn);
  expect_near(rope_of(scaling(keys + R"(, "factor": null)")).inverse_frequency, kYarn);
}

TEST(Dynamic, FrequenciesFollowTheLength) {
  const Rope rope = rope_of(R"({"max_position_embeddings": 1024,
      "rope_scaling": {"type": "dynamic", "factor": 4.0}})");
  expect_near(rope_frequencies(rope, 1), kPlain);
  expect_near(rope_frequencies(rope, 1024), kPlain);
  expect_near(rope_frequencies(rope, 1500),
              {1, 0.272156298, 0.0740690604, 0.0201583616, 0.00548622571, 0.0014931109,
               0.000406359555, 0.000110593319});
}

const std::vector<double> kShort = {1,
                                    0.287479758,
                                    0.0799999982,
                                    0.0210818499,
                                    0.00571428565,
                                    0.00158113893,
                                    0.00039999999,
                                    0.000105409257};
const std::vector<double> kLong = {1,
                                   0.210818499,
                                   0.0500000007,
                                   0.00790569466,
                                   0.00124999997,
                                   0.000197642366,
                                   4.16666662e-05,
                                   9.88211832e-06};

std::string longrope(const std::string& type, const std::string& more = "",
                     int64_t context = 131072) {
  return R"({"original_max_position_embeddings": 4096, "max_position_embeddings": )" +
         std::to_string(context) + R"(, "rope_scaling": {"type": ")" + type +
         R"(", "short_factor": [1, 1.1, 1.25, 1.5, 1.75, 2, 2.5, 3],
             "long_factor": [1, 1.5, 2, 4, 8, 16, 24, 32])" +
         more + "}}";
}

TEST(Longrope, ShortAndLongSequences) {
  for (const char* type : {"longrope", "su", "yarn"}) {  // the names it has had in phi3 files
    SCOPED_TRACE(type);
    const Rope rope = rope_of(longrope(type));
    expect_near(rope_frequencies(rope, 4096), kShort);
    expect_near(rope_frequencies(rope, 4097), kLong);
    EXPECT_NEAR(rope.magnitude, 1.1902380714238083, 1e-12);
  }
  EXPECT_EQ(rope_of(longrope("longrope", R"(, "attention_factor": 1.5)")).magnitude, 1.5);
  EXPECT_EQ(rope_of(longrope("longrope", "", 4096)).magnitude, 1);
}

/// gemma3, olmo3: rope_parameters has an entry for each layer type.
TEST(Rope, ParametersByLayerType) {
  const std::string json = R"({"rope_theta": 7, "rope_parameters": {
      "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 10000.0},
      "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}}})";
  const Rope full = rope_of(json, "full_attention"), sliding = rope_of(json, "sliding_attention");
  EXPECT_EQ(full.base, 10000);
  EXPECT_EQ(full.inverse_frequency.front(), 0.125);
  EXPECT_EQ(sliding.base, 100);
  EXPECT_EQ(sliding.inverse_frequency.front(), 1);
  expect_error(ErrorKind::kUnsupported, {"config.json: rope_parameters", "layer type"},
               [&] { rope_of(json); });
}

TEST(Rope, PartInsideTheParameters) {
  EXPECT_EQ(rope_of(R"({"partial_rotary_factor": 1,
      "rope_parameters": {"partial_rotary_factor": 0.25}})")
                .width,
            4);
}

test::GgufWriter gguf_keys() {
  test::GgufWriter writer;
  writer.text("general.architecture", "llama");
  writer.integer("llama.context_length", 131072);
  return writer;
}

Rope rope_of(const test::GgufWriter& writer) {
  const auto file = writer.write(sinkscope::test::scratch_directory("scaling") / "scaling.gguf");
  return read_rope(*io::GgufFile::open(file), kHeadWidth);
}

test::GgufWriter gguf_yarn() {
  test::GgufWriter writer = gguf_keys();
  writer.text("llama.rope.scaling.type", "yarn");
  writer.number("llama.rope.scaling.factor", 4);
  writer.integer("llama.rope.scaling.original_context_length", 1024);
  return writer;
}

TEST(Yarn, InGguf) {
  const Rope rope = rope_of(gguf_yarn());
  expect_near(rope.inverse_frequency, kYarn);
  EXPECT_NEAR(rope.magnitude, 1.138629436111989, 1e-12);
  test::GgufWriter weighted = gguf_yarn(), partly = gguf_yarn();
  weighted.number("llama.rope.scaling.yarn_log_multiplier", 0.5f);
  EXPECT_NEAR(rope_of(weighted).magnitude, 1.138629436111989 / (1 + 0.05 * std::log(4)), 1e-12);
  partly.number("llama.rope.scaling.yarn_ext_factor", 0.5f);
  expect_error(ErrorKind::kUnsupported, {"scaling.gguf", "yarn_ext_factor is 0.5"},
               [&] { rope_of(partly); });
}

TEST(Longrope, InGguf) {
  test::GgufWriter writer = gguf_keys();
  writer.integer("llama.rope.scaling.original_context_length", 4096);
  writer.number("llama.rope.scaling.attn_factor", 1.5f);
  writer.tensor("rope_factors_short.weight", {8}, {1, 1.1f, 1.25f, 1.5f, 1.75f, 2, 2.5f, 3});
  test::GgufWriter half = writer;
  writer.tensor("rope_factors_long.weight", {8}, {1, 1.5f, 2, 4, 8, 16, 24, 32});
  const Rope rope = rope_of(writer);
  expect_near(rope_frequencies(rope, 4096), kShort);
  expect_near(rope_frequencies(rope, 4097), kLong);
  EXPECT_EQ(rope.magnitude, 1.5);
  expect_error(ErrorKind::kBadFile, {"scaling.gguf", "rope_factors_long.weight is missing"},
               [&] { rope_of(half); });
}

/// A factor without a type is linear, also under its old name.
TEST(Rope, FactorsOfGgufWithoutType) {
  for (const char* key : {"llama.rope.scaling.factor", "llama.rope.scale_linear"}) {
    test::GgufWriter writer = gguf_keys();
    writer.number(key, 4);
    EXPECT_EQ(rope_of(writer).inverse_frequency.front(), 0.25) << key;
  }
}

}  // namespace
}  // namespace sinkscope::model
