#include "sinkscope/stats/geometry.h"

#include <ATen/ops/eye.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/stats/matrices.h"

namespace sinkscope::stats {
namespace {

using Positions = std::vector<int64_t>;

at::Tensor rows(const std::vector<std::vector<double>>& values) {
  return test::matrix(values).to(at::kFloat);
}

SinkPairs pairs_of(const forward::Visibility& visibility, int64_t tokens, int64_t sink) {
  return sink_pairs(visibility, tokens, sink);
}

GeometryValues of_first(const at::Tensor& z) {
  const SinkPairs pairs = sink_pairs({}, z.size(0), 0);
  return sink_geometry(z, z, pairs, duplicates_of_sink(z, pairs));
}

TEST(SinkPairs, CausalQueriesComeAfterTheSink) {
  const SinkPairs first = pairs_of({}, 4, 0), later = pairs_of({}, 5, 2);
  EXPECT_EQ(first.queries, (Positions{1, 2, 3}));
  EXPECT_EQ(first.keys, (Positions{1, 2, 3}));
  EXPECT_EQ(later.queries, (Positions{3, 4}));
  EXPECT_EQ(later.keys, (Positions{0, 1, 3, 4}));  // keys before the sink compete too
}

TEST(SinkPairs, WhatNoQueryOfTheSinkSeesIsLeftOut) {
  forward::Visibility window;
  window.window = 3;
  EXPECT_EQ(pairs_of(window, 8, 0).queries, (Positions{1, 2}));
  EXPECT_EQ(pairs_of(window, 8, 0).keys, (Positions{1, 2}));
  EXPECT_EQ(pairs_of(window, 8, 4).queries, (Positions{5, 6}));
  EXPECT_EQ(pairs_of(window, 8, 4).keys, (Positions{3, 5, 6}));
  window.causal = false;
  EXPECT_EQ(pairs_of(window, 8, 0).queries, (Positions{1, 2}));
  EXPECT_EQ(pairs_of(window, 8, 0).keys, (Positions{1, 2, 3, 4}));
}

TEST(SinkPairs, DocumentsAndBothDirections) {
  const int64_t first[] = {0, 0, 2, 2, 2}, end[] = {2, 2, 5, 5, 5};
  forward::Visibility packed;
  packed.document_first = first, packed.document_end = end;
  EXPECT_EQ(pairs_of(packed, 5, 0).queries, (Positions{1}));
  EXPECT_EQ(pairs_of(packed, 5, 2).keys, (Positions{3, 4}));
  packed.causal = false;
  EXPECT_EQ(pairs_of(packed, 5, 3).queries, (Positions{2, 4}));
  EXPECT_EQ(pairs_of(packed, 5, 3).keys, (Positions{2, 4}));
}

TEST(SinkGeometry, AnOpposedSink) {
  // z_i in the half-space x >= 1, the sink on the other side.
  const GeometryValues values = of_first(rows({{-2, 0}, {1, 3}, {1, -3}, {4, 0}}));
  EXPECT_EQ(values.queries.holds, 1);
  EXPECT_EQ(values.leads.holds, 1);
  EXPECT_NEAR(values.queries.margin, 1, 1e-12);
  EXPECT_NEAR(values.leads.margin, 3, 1e-12);
  EXPECT_LE(values.queries.gap, 1e-12);
  EXPECT_EQ(values.used, 3);
  EXPECT_EQ(values.duplicates, 0);
}

// method.md section 7: all cosines with the sink are 0, which the published condition allows.
TEST(SinkGeometry, NearMissCosineZero) {
  const GeometryValues values = of_first(rows({{0, 1}, {1, 0}, {-1, 0}}));
  EXPECT_EQ(values.leads.holds, 1);
  EXPECT_NEAR(values.leads.margin, 1, 1e-12);
  EXPECT_EQ(values.queries.holds, 0);
  EXPECT_EQ(values.queries.margin, 0);
}

TEST(SinkGeometry, ACopyOfTheSinkFailsAlsoWhereItWasNotChosen) {
  const at::Tensor z = rows({{1, 2}, {3, 1}, {1, 2}, {2, 2}});
  const GeometryValues all = of_first(z);
  EXPECT_EQ(all.duplicates, 1);
  EXPECT_EQ(all.leads.holds, 0);
  EXPECT_EQ(all.leads.margin, 0);
  EXPECT_EQ(all.queries.holds, 1);
  const SinkPairs some{0, {1, 3}, {1, 3}};
  EXPECT_EQ(sink_geometry(z, z, some, 1).leads.holds, 0);
  EXPECT_EQ(sink_geometry(z, z, some, 0).leads.holds, 1);
  // 1e-5 apart is another token; 1e-7 is the rounding of a pass.
  EXPECT_EQ(of_first(rows({{1, 2}, {3, 1}, {1, 2.00003}})).duplicates, 0);
  EXPECT_EQ(of_first(rows({{1, 2}, {3, 1}, {1, 2.0000004}})).duplicates, 1);
}

TEST(SinkGeometry, OneTokenHasNoDataAndZeroTokensFail) {
  const GeometryValues one = of_first(rows({{1, 2}}));
  EXPECT_TRUE(std::isnan(one.queries.holds));
  EXPECT_TRUE(std::isnan(one.leads.margin));
  EXPECT_TRUE(std::isnan(one.queries.gap));
  const GeometryValues zero = of_first(at::zeros({5, 3}, at::kFloat));
  EXPECT_EQ(zero.queries.holds, 0);
  EXPECT_EQ(zero.leads.holds, 0);
  EXPECT_EQ(zero.duplicates, 4);
}

TEST(SinkGeometry, ReadsTheRowsOfAHeadInPlace) {
  const at::Tensor q = test::random_tensor({20, 3, 8}, 1), k = test::random_tensor({20, 2, 8}, 2);
  const SinkPairs pairs = sink_pairs({}, 20, 2);
  const at::Tensor q1 = q.select(1, 1), k1 = k.select(1, 1);
  const GeometryValues strided = sink_geometry(q1, k1, pairs, 0),
                       packed = sink_geometry(q1.contiguous(), k1.contiguous(), pairs, 0);
  EXPECT_EQ(strided.queries.margin, packed.queries.margin);
  EXPECT_EQ(strided.leads.margin, packed.leads.margin);
  EXPECT_EQ(duplicates_of_sink(k1, pairs), 0);
}

TEST(PatternCosts, OrthonormalTokens) {
  const at::Tensor z = at::eye(9, at::kFloat);  // T = 8
  const SinkPairs pairs = sink_pairs({}, 9, 0);
  GeometryValues values = sink_geometry(z, z, pairs, 0);
  add_pattern_costs(z, pairs, true, pairs.queries, values);
  EXPECT_NEAR(values.sink_cost.upper, 2.6667, 5e-5);
  EXPECT_NEAR(values.sink_cost.lower, 2, 1e-9);  // |z_T| = 1, g_D = sqrt(9 / 8); g_Z sqrt(2) = 1/2
  EXPECT_LE(values.diagonal_cost.nuclear.lower, 7.0010);
  EXPECT_GE(values.diagonal_cost.nuclear.upper, 7.0010);
  EXPECT_NEAR(values.diagonal_cost.frobenius.lower, 2.4842, 5e-5);
  EXPECT_EQ(values.diagonal_tokens, 9);

  GeometryValues some = sink_geometry(z, z, pairs, 0);
  add_pattern_costs(z, pairs, true, {1, 4, 7}, some);
  EXPECT_LT(some.diagonal_cost.nuclear.lower, values.diagonal_cost.nuclear.lower);
  EXPECT_TRUE(std::isnan(some.diagonal_cost.nuclear.upper));
}

TEST(PatternCosts, WithoutASinkOrWithoutTokens) {
  const at::Tensor opposite = rows({{0, 1}, {1, 0}, {-1, 0}});
  const SinkPairs pairs = sink_pairs({}, 3, 0);
  GeometryValues values = sink_geometry(opposite, opposite, pairs, 0);
  add_pattern_costs(opposite, pairs, true, pairs.queries, values);
  EXPECT_TRUE(std::isinf(values.sink_cost.lower));
  EXPECT_GT(values.diagonal_cost.nuclear.upper, 0);

  GeometryValues one;
  add_pattern_costs(rows({{1, 2}}), sink_pairs({}, 1, 0), true, {}, one);
  EXPECT_TRUE(std::isnan(one.sink_cost.upper));
  EXPECT_TRUE(std::isnan(one.diagonal_cost.nuclear.lower));
}

}  // namespace
}  // namespace sinkscope::stats
