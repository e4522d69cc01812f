#include "sinkscope/diagnostics/mechanism.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/diagnostics/planted.h"

namespace sinkscope::diagnostics {
namespace {

HeadClass class_of(double ratio, double rank, bool degenerate = false) {
  return classify({.event = true,
                   .routed = 1,
                   .ratio_out = ratio,
                   .degenerate = degenerate,
                   .stable_rank = rank},
                  {});
}

TEST(Mechanism, TheOrderOfTheRules) {
  EXPECT_EQ(classify({.too_short = true}, {}), HeadClass::kTooShort);
  EXPECT_EQ(classify({.event = false, .ratio_out = 0.01, .stable_rank = 1}, {}), HeadClass::kNone);
  EXPECT_EQ(class_of(1, 1, true), HeadClass::kOther);  // degenerate comes before the ratio
  EXPECT_EQ(class_of(0.01, 10), HeadClass::kNop);      // whatever the rank
  EXPECT_EQ(class_of(0.01, kNoData), HeadClass::kNop);
  EXPECT_EQ(class_of(1, kNoData), HeadClass::kOther);
  EXPECT_EQ(class_of(0.35, 1), HeadClass::kOther);
  EXPECT_EQ(class_of(1, 1.0009), HeadClass::kBroadcast);
  EXPECT_EQ(class_of(1, 1.913), HeadClass::kOther);
}

TEST(Mechanism, ThresholdsAreInclusive) {
  EXPECT_EQ(class_of(0.2, 1), HeadClass::kNop);
  EXPECT_EQ(class_of(std::nextafter(0.2, 1), 1), HeadClass::kOther);
  EXPECT_EQ(class_of(0.5, 1.5), HeadClass::kBroadcast);
  EXPECT_EQ(class_of(std::nextafter(0.5, 0), 1.5), HeadClass::kOther);
  EXPECT_EQ(class_of(0.5, std::nextafter(1.5, 2)), HeadClass::kOther);
}

TEST(Mechanism, NearThresholdCountsWhatAHairWouldChange) {
  const auto near = [](double routed, double ratio, double rank, bool event = true) {
    return near_threshold(
        {.event = event, .routed = routed, .ratio_out = ratio, .stable_rank = rank}, {});
  };
  EXPECT_FALSE(near(1, 0.1, 1.2));
  EXPECT_TRUE(near(0.8995, 0.1, 1.2, false));
  EXPECT_FALSE(near(0.8985, 0.1, 1.2, false));
  EXPECT_TRUE(near(1, 0.2009, 1.2));
  EXPECT_FALSE(near(1, 0.2011, 1.2));
  EXPECT_TRUE(near(1, 0.4991, 1.2));
  EXPECT_TRUE(near(1, 0.7, 1.4995));
  EXPECT_FALSE(near(0.5, 0.2, 1.5, false));  // no event: neither ratio nor rank decides
  EXPECT_FALSE(near(1, kNoData, kNoData));
}

TEST(Mechanism, AnEventWithoutValuesHasNoClass) {
  const auto head = test::measure(test::attention_of({PlantedRows::kSinkEven, 32}));
  EXPECT_EQ(head.value("event"), 1);
  EXPECT_TRUE(std::isnan(head.value("class")));
}

TEST(Mechanism, EveryPlantedHeadHasItsClass) {
  for (const PlantedHead& planted : planted_heads()) {
    const auto head = test::measure(planted);
    EXPECT_EQ(head.head_class(), planted.expected_class) << planted.name;
    if (planted.expected_sink) {
      EXPECT_EQ(head.value("sink"), *planted.expected_sink) << planted.name;
    } else {
      EXPECT_EQ(head.value("too_short"), 1) << planted.name;
    }
  }
}

}  // namespace
}  // namespace sinkscope::diagnostics
