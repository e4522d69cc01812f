#include "sinkscope/base/mix.h"

#include <gtest/gtest.h>

namespace sinkscope {
namespace {

// The first outputs of splitmix64 from state 0 and from the state after one step.
TEST(Mix, IsTheFinaliserOfSplitmix64) {
  EXPECT_EQ(mix(0, {0}), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(mix(0, {0x9E3779B97F4A7C15u}), 0x6E789E6AA1B965F4u);
  EXPECT_EQ(mix(7, {}), 7u);
}

TEST(Mix, EveryPartAndItsPlaceCount) {
  EXPECT_NE(mix(0, {1, 2}), mix(0, {2, 1}));
  EXPECT_NE(mix(0, {1, 2}), mix(0, {1, 3}));
  EXPECT_NE(mix(0, {1, 2}), mix(1, {1, 2}));
}

}  // namespace
}  // namespace sinkscope
