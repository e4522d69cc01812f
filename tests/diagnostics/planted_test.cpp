#include "sinkscope/diagnostics/planted.h"

#include <gtest/gtest.h>

#include <set>

namespace sinkscope::diagnostics {
namespace {

TEST(Planted, RowsSumToOneInsideWhatTheQuerySees) {
  std::vector<PlantedPattern> patterns;
  for (const PlantedRows rows :
       {PlantedRows::kUniform, PlantedRows::kDiagonal, PlantedRows::kPrevious, PlantedRows::kLocal4,
        PlantedRows::kSinkEven, PlantedRows::kSinkSelf, PlantedRows::kHalfSink}) {
    patterns.push_back({rows, 24, 0.7});
    patterns.push_back({rows, 24, 0.7, false});
    patterns.push_back({rows, 24, 0.7, true, 5});
    patterns.push_back({rows, 24, 0.7, true, 0, 10});
    patterns.push_back({rows, 24, 0.7, false, 0, 10});
    patterns.push_back({rows, 1, 0.7});
  }
  for (const PlantedPattern& pattern : patterns) {
    std::vector<double> row(static_cast<size_t>(pattern.tokens));
    for (int64_t i = 0; i < pattern.tokens; ++i) {
      pattern.write_row(i, row);
      double inside = 0, outside = 0;
      for (int64_t k = 0; k < pattern.tokens; ++k) {
        const bool seen = k >= pattern.first_key(i) && k < pattern.last_key(i);
        (seen ? inside : outside) += row[static_cast<size_t>(k)];
      }
      EXPECT_NEAR(inside, 1, 1e-12);
      EXPECT_EQ(outside, 0);
    }
  }
}

TEST(Planted, EveryClassIsThereAndNamesAreUnique) {
  std::set<HeadClass> classes;
  std::set<std::string> names;
  for (const PlantedHead& head : planted_heads()) {
    classes.insert(head.expected_class);
    EXPECT_TRUE(names.insert(head.name).second) << head.name;
    EXPECT_EQ(head.attention.size(), static_cast<size_t>(head.tokens * head.tokens));
    EXPECT_EQ(head.values.size(), static_cast<size_t>(head.tokens * head.width));
  }
  EXPECT_EQ(classes.size(), 5u);
}

}  // namespace
}  // namespace sinkscope::diagnostics
