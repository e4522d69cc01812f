#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sinkscope/diagnostics/mechanism.h"
#include "sinkscope/diagnostics/sink.h"
#include "tests/diagnostics/planted.h"
#include "tests/support/paths.h"

// The SmolLM2 reference: attention of five heads, and the class of every head by its numbers.

namespace sinkscope::diagnostics {
namespace {

/// Just enough of safetensors to read the reference without the io layer.
class Reference {
 public:
  explicit Reference(const std::filesystem::path& file) : in_(file, std::ios::binary) {
    uint64_t size = 0;
    in_.read(reinterpret_cast<char*>(&size), sizeof size);
    std::string header(size, ' ');
    in_.read(header.data(), static_cast<std::streamsize>(size));
    header_ = nlohmann::json::parse(header);
    data_ = 8 + size;
  }

  /// F32 or I32 entries as double.
  std::vector<double> read(const std::string& name) {
    const auto& entry = header_.at(name);
    const uint64_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
    std::vector<char> bytes(end - begin);
    in_.seekg(static_cast<std::streamoff>(data_ + begin));
    in_.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    std::vector<double> values(bytes.size() / 4);
    for (size_t i = 0; i < values.size(); ++i) {
      if (entry["dtype"] == "I32") {
        int32_t value;
        std::memcpy(&value, &bytes[4 * i], 4);
        values[i] = value;
      } else {
        float value;
        std::memcpy(&value, &bytes[4 * i], 4);
        values[i] = value;
      }
    }
    return values;
  }

 private:
  std::ifstream in_;
  nlohmann::json header_;
  uint64_t data_ = 0;
};

constexpr size_t kTokens = 64, kHeads = 9;

stats::AttentionValues attention_from(const std::vector<double>& maps, size_t index) {
  stats::AttentionValues sums = test::empty_attention(kTokens);
  const std::span all(maps);
  for (size_t i = 0; i < kTokens; ++i) {
    const auto row = all.subspan((index * kTokens + i) * kTokens, kTokens);
    const auto query = static_cast<int64_t>(i);
    test::add_row(sums, row, query, 0, query + 1);
  }
  // Float rows sum to 1 only to 1e-7; this model has no sink logit.
  sums.sink_logit_sum = 0;
  sums.sink_logit_events = 0;
  return sums;
}

TEST(ReferenceSmolLM2, SinkMetricsOfFiveHeads) {
  SINKSCOPE_DATA_OR_SKIP(file, "smollm2/reference.safetensors");
  Reference reference(file);
  const auto maps = reference.read("attention_chunk0_t64_bos");
  const auto heads = reference.read("attention_heads");
  const auto expected = [&](const char* name) {
    return reference.read(std::string("t64_bos/") + name);
  };
  const auto alpha = expected("alpha"), argmax = expected("argmax"),
             strength = expected("strength");
  const auto routed = expected("routed"), entropy = expected("entropy");
  const auto entropy_norm = expected("entropy_norm");
  for (size_t n = 0; n < heads.size() / 2; ++n) {
    const auto head = static_cast<size_t>(heads[2 * n] * kHeads + heads[2 * n + 1]);
    SCOPED_TRACE(testing::Message() << "L" << heads[2 * n] << "H" << heads[2 * n + 1]);
    const auto found = test::measure(attention_from(maps, n));
    for (size_t k = 0; k < 4; ++k) EXPECT_NEAR(found.value("alpha", k), alpha[4 * head + k], 1e-6);
    EXPECT_EQ(found.value("sink_index"), argmax[head]);
    EXPECT_NEAR(found.value("alpha_sink"), strength[head], 1e-6);
    EXPECT_NEAR(found.value("routed"), routed[head], 1e-6);
    EXPECT_NEAR(found.value("entropy"), entropy[head], 2e-6);
    EXPECT_NEAR(found.value("entropy_norm"), entropy_norm[head], 2e-6);
  }
}

TEST(ReferenceSmolLM2, TheClassOfEveryHeadFollowsFromItsNumbers) {
  SINKSCOPE_DATA_OR_SKIP(file, "smollm2/reference.safetensors");
  Reference reference(file);
  size_t compared = 0, events = 0;
  for (const std::string condition : {"t64_bos", "t64_nobos", "t512_bos", "t512_nobos"}) {
    const auto routed = reference.read(condition + "/routed");
    const auto ratio = reference.read(condition + "/ratio_out");
    const auto rank = reference.read(condition + "/stable_rank");
    const auto expected = reference.read(condition + "/class");
    for (size_t i = 0; i < expected.size(); ++i) {
      if (std::abs(ratio[i] - 0.2) < 1e-5) continue;  // the reference's own tolerance
      // 0.9 is stored as a float just below it.
      const bool event = routed[i] >= 0.9 - 1e-6;
      const ClassInput head{
          .event = event, .routed = routed[i], .ratio_out = ratio[i], .stable_rank = rank[i]};
      EXPECT_EQ(static_cast<double>(classify(head, {})), expected[i]) << condition << " " << i;
      ++compared;
      events += event;
    }
  }
  EXPECT_GT(compared, 5300u);
  EXPECT_GT(events, 700u);
}

}  // namespace
}  // namespace sinkscope::diagnostics
