#include <gtest/gtest.h>

#include <cmath>

#include "sinkscope/diagnostics/diagnostic.h"

namespace sinkscope::diagnostics {
namespace {

Record measure_loss(const SequenceInput& input) {
  Record record(2, 1);
  find_diagnostic("loss").measure_sequence(input, {}, record);
  return record;
}

TEST(Loss, IsPerPredictedTokenNotPerToken) {
  const Record record = measure_loss({.tokens = 64, .loss_sum = 126, .loss_tokens = 63});
  EXPECT_EQ(record.find("loss", 0)[0], 2);
}

TEST(Loss, NearMissNothingPredictedIsNoDataNotZero) {
  const Record record = measure_loss({.tokens = 1, .loss_sum = 0, .loss_tokens = 0});
  ASSERT_EQ(record.find("loss", 0).size(), 1u);
  EXPECT_TRUE(std::isnan(record.find("loss", 0)[0]));
}

}  // namespace
}  // namespace sinkscope::diagnostics
