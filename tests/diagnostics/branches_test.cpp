#include <gtest/gtest.h>

#include <cmath>

#include "tests/diagnostics/planted.h"

namespace sinkscope::diagnostics {
namespace {

TEST(Branches, TheLengthsOfBothBranchesAtPositionZero) {
  LayerInput input;
  input.layer = 1;
  input.attn_out_norm_first = 3;
  input.mlp_out_norm_first = 400;
  const Record record = test::run_layer(input, 0);
  EXPECT_EQ(record.find("attn_out_norm_p0", 1)[0], 3);
  EXPECT_EQ(record.find("mlp_out_norm_p0", 1)[0], 400);
}

TEST(Branches, NearMissAModelWithoutBranchTapsHasNoData) {
  const Record record = test::run_layer(LayerInput{}, 0);
  EXPECT_TRUE(std::isnan(record.find("attn_out_norm_p0", 0)[0]));
}

}  // namespace
}  // namespace sinkscope::diagnostics
