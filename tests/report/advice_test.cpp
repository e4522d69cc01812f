#include "sinkscope/report/advice.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/report/sample_run.h"

namespace sinkscope::report {
namespace {

using test::Sample;
using test::Writer;

/// Advice from the loss changes of every sequence, by metric.
std::vector<Finding> advise(std::vector<std::pair<const char*, double>> values) {
  Sample sample;
  sample.identity.diagnostics = {"sink", "mechanism", "recommend"};
  for (const auto& [metric, value] : values) sample.more.insert(metric);
  sample.change = [values](int64_t, Writer& writer) {
    for (const auto& [metric, value] : values) writer.set(metric, 0, 0, value);
  };
  return find_advice(test::read_sample(sample));
}

std::string text_of(const std::vector<Finding>& advice, std::string_view key) {
  for (const Finding& finding : advice) {
    if (finding.key == key) return finding.text;
  }
  return "";
}

TEST(Advice, AnEvictionMustCostMoreThanTheControl) {
  EXPECT_NE(text_of(advise({{"evict_first_loss_change", 0.4}, {"evict_random_loss_change", 0.01}}),
                    "keep_list")
                .find("keep list"),
            std::string::npos);
  // Near misses: dear, but any token is; cheap.
  for (const auto& [first, random] : {std::pair{0.4, 0.2}, std::pair{0.009, 0.0}}) {
    const std::string text =
        text_of(advise({{"evict_first_loss_change", first}, {"evict_random_loss_change", random}}),
                "keep_list");
    EXPECT_NE(text.find("no place of its own"), std::string::npos) << text;
  }
}

TEST(Advice, AGateCannotReplaceAPayloadThatIsUsed) {
  EXPECT_NE(text_of(advise({{"nop_value_loss_change", 0.0},
                            {"nop_column_loss_change", 0.3},
                            {"advice_nop_heads", 12}}),
                    "nop")
                .find("a gate or a learned sink logit"),
            std::string::npos);
  EXPECT_NE(
      text_of(advise({{"nop_value_loss_change", 0.2}, {"nop_column_loss_change", 0.3}}), "nop")
          .find("would lose it"),
      std::string::npos);
  EXPECT_NE(text_of(advise({{"broadcast_value_loss_change", 0.2}}), "broadcast").find("registers"),
            std::string::npos);
}

TEST(Advice, NothingIsSaidOfWhatWasNotTried) {
  EXPECT_TRUE(advise({}).empty());
  EXPECT_EQ(advise({{"massive_zero_loss_change", 0.5}}).size(), 1u);
}

}  // namespace
}  // namespace sinkscope::report
