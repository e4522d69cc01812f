#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "sinkscope/model/family.h"
#include "tests/io/files.h"
#include "tests/model/gguf_writer.h"
#include "tests/support/paths.h"

namespace sinkscope::model {
namespace {

using io::test::expect_error;

Rope rope_of(const std::string& json, int64_t head_width) {
  return read_rope(io::Config::parse(json, "config.json"), head_width);
}

std::string llama3(double factor, const std::string& type_key) {
  return R"("factor": )" + std::to_string(factor) +
         R"(, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
      "original_max_position_embeddings": 8192, ")" +
         type_key + R"(": "llama3")";
}

std::string classic(double factor, const std::string& type_key) {
  return R"({"rope_theta": 500000.0, "rope_scaling": {)" + llama3(factor, type_key) + "}}";
}

std::string newer(double factor, const std::string& type_key) {
  return R"({"rope_parameters": {"rope_theta": 500000.0, )" + llama3(factor, type_key) + "}}";
}

struct Scaled {
  int64_t head_width;
  double factor;
  int64_t last_unchanged;
  std::map<size_t, double> frequencies;
};

std::vector<Scaled> case_att_3() {
  return {{64,
           32,
           14,
           {{14, 3.211445995e-3},
            {15, 1.290547928e-3},
            {16, 4.295567966e-4},
            {17, 9.708287803e-5},
            {18, 1.946163818e-5},
            {31, 9.418306725e-8}}},
          {128,
           8,
           28,
           {{28, 3.211445995e-3},
            {29, 2.166570764e-3},
            {31, 8.567514129e-4},
            {34, 1.785078128e-4},
            {35, 9.556212354e-5},
            {63, 3.068925989e-7}}}};
}

void expect_frequencies(const Rope& rope, const Scaled& scaled, double relative) {
  ASSERT_EQ(rope.inverse_frequency.size(), static_cast<size_t>(scaled.head_width / 2));
  for (int64_t i = 0; i <= scaled.last_unchanged; ++i) {
    const double plain =
        std::pow(500000.0, -2.0 * static_cast<double>(i) / static_cast<double>(scaled.head_width));
    EXPECT_NEAR(rope.inverse_frequency[static_cast<size_t>(i)] / plain, 1, relative) << i;
  }
  for (const auto& [i, frequency] : scaled.frequencies) {
    EXPECT_NEAR(rope.inverse_frequency[i] / frequency, 1, relative) << i;
  }
}

TEST(Cases, ATT_3) {
  for (const Scaled& scaled : case_att_3()) {
    for (const char* type_key : {"rope_type", "type"}) {
      for (const std::string& json :
           {classic(scaled.factor, type_key), newer(scaled.factor, type_key)}) {
        SCOPED_TRACE(json);
        const Rope rope = rope_of(json, scaled.head_width);
        EXPECT_EQ(rope.base, 500000);
        EXPECT_EQ(rope.width, scaled.head_width);
        EXPECT_EQ(rope.magnitude, 1);
        expect_frequencies(rope, scaled, 1e-7);
      }
    }
  }
  for (const char* form : {"rope_scaling", "rope_parameters"}) {
    expect_error(
        ErrorKind::kUnsupported,
        {"config.json", form, "\"spiral\"", "default, linear, dynamic, llama3, yarn, longrope"},
        [&] {
          rope_of(std::string("{\"") + form + R"(": {"rope_type": "spiral", "factor": 4.0}})", 64);
        });
  }
}

test::GgufWriter gguf_keys(uint32_t channels) {
  test::GgufWriter writer;
  writer.text("general.architecture", "llama");
  writer.number("llama.rope.freq_base", 500000);
  writer.integer("llama.rope.dimension_count", channels);
  return writer;
}

Rope rope_of(const test::GgufWriter& writer, int64_t head_width) {
  const auto file = writer.write(sinkscope::test::scratch_directory("rope") / "rope.gguf");
  return read_rope(*io::GgufFile::open(file), head_width);
}

TEST(Cases, ATT_3_DivisorsInGguf) {
  std::vector<float> divisors(32, 32);
  std::fill_n(divisors.begin(), 15, 1.0f);
  divisors[15] = 1.651329f, divisors[16] = 3.292262f, divisors[17] = 9.666729f;
  test::GgufWriter writer = gguf_keys(64);
  writer.tensor("rope_freqs.weight", {32}, divisors);
  expect_frequencies(rope_of(writer, 64), case_att_3()[0], 1e-6);
}

TEST(Rope, DivisorsThatDoNotFitAreRefused) {
  test::GgufWriter short_one = gguf_keys(64), zero = gguf_keys(64);
  short_one.tensor("rope_freqs.weight", {31}, std::vector<float>(31, 1));
  zero.tensor("rope_freqs.weight", {32}, std::vector<float>(32, 0));
  expect_error(ErrorKind::kBadFile, {"rope.gguf", "rope_freqs.weight has 31 entries, expected 32"},
               [&] { rope_of(short_one, 64); });
  expect_error(ErrorKind::kBadFile, {"rope.gguf", "rope_freqs.weight is 0"},
               [&] { rope_of(zero, 64); });
}

TEST(Rope, ScalingTypesOfGguf) {
  test::GgufWriter linear = gguf_keys(8), unknown = gguf_keys(8), odd = gguf_keys(7),
                   none = gguf_keys(8);
  linear.text("llama.rope.scaling.type", "linear");
  linear.number("llama.rope.scaling.factor", 4);
  unknown.text("llama.rope.scaling.type", "spiral");
  none.text("llama.rope.scaling.type", "none");
  EXPECT_NEAR(rope_of(linear, 8).inverse_frequency[1], std::pow(500000, -0.25) / 4, 1e-9);
  EXPECT_NEAR(rope_of(none, 8).inverse_frequency[1], std::pow(500000, -0.25), 1e-9);
  expect_error(ErrorKind::kUnsupported, {"llama.rope.scaling.type is \"spiral\""},
               [&] { rope_of(unknown, 8); });
  expect_error(ErrorKind::kBadFile, {"llama.rope.dimension_count is 7"}, [&] { rope_of(odd, 8); });
}

TEST(Rope, DefaultsOfAConfiguration) {
  for (const char* json :
       {"{}", R"({"rope_scaling": null})", R"({"rope_parameters": {"rope_type": "default"}})"}) {
    const Rope rope = rope_of(json, 4);
    EXPECT_EQ(rope.base, 10000) << json;
    EXPECT_EQ(rope.inverse_frequency, (std::vector<double>{1, 0.01})) << json;
  }
  EXPECT_EQ(rope_of(R"({"rope_theta": 100, "rope_scaling": {"type": "linear", "factor": 4}})", 4)
                .inverse_frequency,
            (std::vector<double>{0.25, 0.025}));
}

// Case ATT-8: frequencies come from the rotated channels, not from the width of the head.
TEST(Rope, PartOfTheChannels) {
  for (const char* key : {"rotary_pct", "partial_rotary_factor"}) {
    const Rope rope = rope_of(std::string("{\"") + key + "\": 0.25}", 16);
    EXPECT_EQ(rope.width, 4);
    EXPECT_EQ(rope.inverse_frequency, (std::vector<double>{1, 0.01}));
  }
}

TEST(Rope, NumbersThatMakeNoSenseAreRefusedByKey) {
  const auto llama3_with = [](const std::string& change) {
    return R"({"rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4,
        "original_max_position_embeddings": 8192, )" +
           change + "}}";
  };
  const std::map<std::string, std::string> rows = {
      {R"({"rope_theta": 0})", "rope_theta is 0"},
      {R"({"rope_theta": -5})", "rope_theta is -5"},
      {R"({"rope_theta": "big"})", "rope_theta"},
      {R"({"partial_rotary_factor": 0})", "0 of 16 channels"},
      {R"({"partial_rotary_factor": 2})", "32 of 16 channels"},
      {R"({"partial_rotary_factor": -1e300})", "of 16 channels"},
      {R"({"partial_rotary_factor": 0.2})", "3 of 16 channels"},
      {R"({"rope_scaling": {"type": "linear"}})", "rope_scaling.factor"},
      {R"({"rope_scaling": {"type": "linear", "factor": 0}})", "factor is 0"},
      {R"({"rope_scaling": 3})", "rope_scaling"},
      {llama3_with(R"("factor": -1)"), "factor is -1"},
      {llama3_with(R"("high_freq_factor": 1)"),
       "high_freq_factor 1 is not above low_freq_factor 1"},
      {R"({"rope_scaling": {"rope_type": "llama3", "factor": 8}})", "rope_scaling.low_freq_factor"},
      {R"({"rope_scaling": {"type": "dynamic", "factor": 2}})", "max_position_embeddings"},
      {R"({"rope_theta": 1, "max_position_embeddings": 64, "rope_scaling": {"type": "yarn", "factor": 2}})",
       "base above 1"},
      {R"({"max_position_embeddings": 64, "rope_scaling": {"type": "yarn", "factor": 2, "beta_fast": -1}})",
       "beta_fast is -1"},
      {R"({"max_position_embeddings": 64, "rope_scaling": {"type": "longrope", "factor": 2,
          "short_factor": [1, 1], "long_factor": [1, 1]}})",
       "short_factor has 2 entries, expected 8"},
      {R"({"max_position_embeddings": 64, "rope_scaling": {"type": "longrope", "factor": 2}})",
       "short_factor has 0 entries, expected 8"},
  };
  for (const auto& [json, says] : rows) {
    SCOPED_TRACE(json);
    expect_error(ErrorKind::kBadFile, {"config.json", says}, [&] { rope_of(json, 16); });
  }
}

}  // namespace
}  // namespace sinkscope::model
