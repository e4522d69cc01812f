#include "sinkscope/diagnostics/selection.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/diagnostics/planted.h"

namespace sinkscope::diagnostics {
namespace {

constexpr std::array kGap = {4.0, 2.0}, kNoGap = {4.0, 2.1}, kRankOne = {4.0, 0.0};

stats::SelectionValues selection(double ratio, bool massive = false) {
  stats::SelectionValues values;
  values.input_norm_ratio = ratio;
  values.input_massive = massive;
  return values;
}

TEST(Selection, ASpectralGapAndALongInputAreToldApart) {
  EXPECT_EQ(subtype_of(selection(1), kGap), Subtype::kSpectral);
  EXPECT_EQ(subtype_of(selection(5), kNoGap), Subtype::kMassive);
  EXPECT_EQ(subtype_of(selection(1, true), kNoGap), Subtype::kMassive);
  EXPECT_EQ(subtype_of(selection(7), kRankOne), Subtype::kBoth);
}

TEST(Selection, NearMisses) {
  EXPECT_EQ(subtype_of(selection(4.99), kNoGap), Subtype::kNeither);
  EXPECT_EQ(subtype_of(selection(kNoData), kNoGap), Subtype::kNeither);
  EXPECT_EQ(subtype_of(selection(1), {}), Subtype::kNeither);
  EXPECT_EQ(subtype_of(selection(1), std::array{3.0}), Subtype::kNeither);  // heads of width 1
}

TEST(Selection, ALearnedLogitIsItsOwnKind) {
  stats::SelectionValues values = selection(7);
  values.learned_logit = true;
  EXPECT_EQ(subtype_of(values, kGap), Subtype::kLearnedLogit);
}

TEST(Selection, OnlyEventsHaveASubtype) {
  const stats::SelectionValues values = selection(7);
  LayerInput input;
  input.heads.resize(1);
  input.heads[0].selection = &values;
  input.heads[0].qk_spectrum = kGap;
  Record record(1, 1);
  find_diagnostic("selection").measure_layer(input, {}, record);
  EXPECT_TRUE(std::isnan(record.find("subtype", 0)[0]));
  EXPECT_EQ(record.find("sink_input_ratio", 0)[0], 7);
  record.values(*find_metric("event"), 0)[0] = 1;
  find_diagnostic("selection").measure_layer(input, {}, record);
  EXPECT_EQ(record.find("subtype", 0)[0], 3);
}

}  // namespace
}  // namespace sinkscope::diagnostics
