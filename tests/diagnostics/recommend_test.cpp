#include <gtest/gtest.h>

#include <cmath>

#include "sinkscope/diagnostics/diagnostic.h"
#include "sinkscope/stats/advice_values.h"

namespace sinkscope::diagnostics {
namespace {

Record recommend(const stats::AdviceValues* advice) {
  Record record(1, 1);
  SequenceInput input;
  input.advice = advice;
  find_diagnostic("recommend").measure_sequence(input, {}, record);
  return record;
}

TEST(Recommend, EveryAdviceRestsOnALossWithAndWithout) {
  stats::AdviceValues advice;
  advice.loss = 3, advice.evict_first = 4.5, advice.evict_random = 3.01;
  advice.nop_heads = 12, advice.nop_value = 3, advice.nop_column = 3.5;
  const Record record = recommend(&advice);
  EXPECT_EQ(record.find("evict_first_loss_change", 0)[0], 1.5);
  EXPECT_NEAR(record.find("evict_random_loss_change", 0)[0], 0.01, 1e-12);
  EXPECT_EQ(record.find("nop_value_loss_change", 0)[0], 0);  // near miss: measured, and nothing
  EXPECT_EQ(record.find("nop_column_loss_change", 0)[0], 0.5);
  EXPECT_EQ(record.find("advice_nop_heads", 0)[0], 12);
}

TEST(Recommend, WhatWasNotTriedHasNoNumber) {
  stats::AdviceValues advice;
  advice.loss = 3;
  const Record tried = recommend(&advice);
  EXPECT_EQ(tried.find("advice_loss", 0)[0], 3);
  EXPECT_TRUE(std::isnan(tried.find("massive_zero_loss_change", 0)[0]));
  const Record untried = recommend(nullptr);
  ASSERT_EQ(untried.find("advice_loss", 0).size(), 1u);
  EXPECT_TRUE(std::isnan(untried.find("advice_loss", 0)[0]));
}

}  // namespace
}  // namespace sinkscope::diagnostics
