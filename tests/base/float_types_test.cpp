#include "sinkscope/base/float_types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sinkscope {
namespace {

/// Value of binary16 by its definition, in double.
double half_value(uint16_t h) {
  const int exponent = h >> 10 & 0x1F, fraction = h & 0x3FF;
  double magnitude = std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 0) magnitude = std::ldexp(fraction, -24);
  if (exponent == 31) {
    magnitude = fraction ? std::numeric_limits<double>::quiet_NaN()
                         : std::numeric_limits<double>::infinity();
  }
  return h & 0x8000 ? -magnitude : magnitude;
}

TEST(Half, EveryPattern) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float got = half_to_float(static_cast<uint16_t>(bits));
    const double expected = half_value(static_cast<uint16_t>(bits));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got)) << bits;
      continue;
    }
    ASSERT_EQ(got, expected) << bits;
    ASSERT_EQ(std::signbit(got), bits >> 15 == 1) << bits;  // -0 too
  }
}

TEST(Half, KnownValues) {
  EXPECT_EQ(half_to_float(0x3C00), 1);
  EXPECT_EQ(half_to_float(0x7BFF), 65504);
  EXPECT_EQ(half_to_float(0x0001), 0x1p-24f);
  EXPECT_EQ(half_to_float(0x8400), -0x1p-14f);
}

TEST(Bfloat, EveryPatternIsTheUpperHalfOfAFloat) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const int exponent = bits >> 7 & 0xFF, fraction = bits & 0x7F;
    const float got = bfloat_to_float(static_cast<uint16_t>(bits));
    if (exponent == 255) {
      ASSERT_EQ(std::isnan(got), fraction != 0) << bits;
      ASSERT_EQ(std::isinf(got), fraction == 0) << bits;
      continue;
    }
    const double magnitude =
        exponent == 0 ? std::ldexp(fraction, -133) : std::ldexp(128 + fraction, exponent - 134);
    ASSERT_EQ(got, bits & 0x8000 ? -magnitude : magnitude) << bits;
    ASSERT_EQ(std::signbit(got), bits >> 15 == 1) << bits;
  }
}

}  // namespace
}  // namespace sinkscope
