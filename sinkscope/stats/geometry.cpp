#include "sinkscope/stats/geometry.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "sinkscope/theory/cholesky.h"
#include "sinkscope/theory/min_norm_point.h"

namespace sinkscope::stats {
namespace {

// Of the sink's length. Rounding of a float32 pass keeps copies of a token about 1e-7 apart.
constexpr double kSame = 1e-6;

std::span<const float> row(const at::Tensor& rows, int64_t t) {
  return {rows.data_ptr<float>() + t * rows.stride(0), static_cast<size_t>(rows.size(1))};
}

HullValues hull(const std::vector<double>& points, int64_t width) {
  HullValues values;
  if (points.empty()) return values;
  const theory::MinNormPoint found = theory::min_norm_point({points, width});
  values.gap = found.gap;
  if (found.verdict == theory::HullVerdict::kUndecided) return values;
  values.holds = found.verdict == theory::HullVerdict::kApart;
  values.margin = found.margin;
  return values;
}

std::vector<double> points_of(const at::Tensor& rows, const std::vector<int64_t>& positions) {
  std::vector<double> points;
  points.reserve(positions.size() * static_cast<size_t>(rows.size(1)));
  for (const int64_t t : positions) {
    const auto x = row(rows, t);
    points.insert(points.end(), x.begin(), x.end());
  }
  return points;
}

std::vector<double> leads_of(const at::Tensor& rows, const SinkPairs& pairs) {
  std::vector<double> points;
  points.reserve(pairs.keys.size() * static_cast<size_t>(rows.size(1)));
  const auto sink = row(rows, pairs.sink);
  for (const int64_t t : pairs.keys) {
    const auto x = row(rows, t);
    for (size_t c = 0; c < x.size(); ++c) points.push_back(static_cast<double>(sink[c]) - x[c]);
  }
  return points;
}

double length(const std::vector<double>& x) { return std::sqrt(theory::dot(x, x)); }

}  // namespace

SinkPairs sink_pairs(const forward::Visibility& visibility, int64_t tokens, int64_t sink) {
  SinkPairs pairs;
  pairs.sink = sink;
  int64_t first = tokens, last = 0;
  for (int64_t i = 0; i < tokens; ++i) {
    const auto seen = visibility.keys_of(i, tokens);
    if (i == sink || sink < seen.first || sink >= seen.last) continue;
    pairs.queries.push_back(i);
    first = std::min(first, seen.first), last = std::max(last, seen.last);
  }
  for (int64_t j = first; j < last; ++j) {  // ranges that all hold the sink leave no gap
    if (j != sink) pairs.keys.push_back(j);
  }
  return pairs;
}

int64_t duplicates_of_sink(const at::Tensor& rows, const SinkPairs& pairs) {
  const auto sink = row(rows, pairs.sink);
  double square = 0;
  for (const float x : sink) square += static_cast<double>(x) * x;
  const double most = kSame * kSame * square;
  return std::count_if(pairs.keys.begin(), pairs.keys.end(), [&](int64_t t) {
    const auto x = row(rows, t);
    double distance = 0;
    for (size_t c = 0; c < x.size() && distance <= most; ++c) {
      const double lead = static_cast<double>(sink[c]) - x[c];
      distance += lead * lead;
    }
    return distance <= most;
  });
}

GeometryValues sink_geometry(const at::Tensor& query_rows, const at::Tensor& key_rows,
                             const SinkPairs& pairs, int64_t duplicates) {
  GeometryValues values;
  values.used = values.available = std::ssize(pairs.queries);
  values.duplicates = duplicates;
  values.queries = hull(points_of(query_rows, pairs.queries), query_rows.size(1));
  // The duplicate alone is the certificate.
  values.leads =
      duplicates > 0 ? HullValues{0, 0, 0} : hull(leads_of(key_rows, pairs), key_rows.size(1));
  return values;
}

void add_pattern_costs(const at::Tensor& z, const SinkPairs& pairs, bool causal,
                       const std::vector<int64_t>& diagonal, GeometryValues& values) {
  if (pairs.queries.empty()) return;
  if (!std::isnan(values.queries.margin) && !std::isnan(values.leads.margin)) {
    const SinkPairs first{pairs.sink, {}, {pairs.keys.front()}};
    values.sink_cost = theory::sink_cost({values.queries.margin, values.leads.margin,
                                          length(points_of(z, {pairs.queries.back()})),
                                          length(leads_of(z, first)), causal});
  }
  std::vector<int64_t> positions{pairs.sink};
  positions.insert(positions.end(), diagonal.begin(), diagonal.end());
  const auto tokens = std::ssize(positions);
  std::vector<double> rows = points_of(z, positions);
  const at::Tensor x = at::from_blob(rows.data(), {tokens, z.size(1)}, at::kDouble);
  const at::Tensor gram = at::mm(x, x.t());
  values.diagonal_tokens = tokens;
  values.diagonal_cost =
      theory::diagonal_cost({gram.data_ptr<double>(), static_cast<size_t>(gram.numel())}, tokens,
                            causal, std::min(tokens - 1, z.size(1)));
  if (diagonal.size() < static_cast<size_t>(values.available)) {
    values.diagonal_cost.nuclear.upper = values.diagonal_cost.frobenius.upper =
        std::numeric_limits<double>::quiet_NaN();
  }
}

}  // namespace sinkscope::stats
