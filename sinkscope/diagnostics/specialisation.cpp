#include "sinkscope/diagnostics/specialisation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "sinkscope/base/mix.h"
#include "sinkscope/diagnostics/diagnostic.h"

namespace sinkscope::diagnostics {

namespace {

constexpr double kSpecialistShare = 0.8, kIdleShare = 0.05;
constexpr int64_t kFewestInputs = 30, kFewestEvents = 20;

/// Ranks from 0; equal values get the mean of theirs.
std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t first = 0; first < order.size();) {
    size_t last = first;
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    for (size_t i = first; i < last; ++i) {
      ranks[order[i]] = static_cast<double>(first + last - 1) / 2;
    }
    first = last;
  }
  return ranks;
}

}  // namespace

Habit head_habit(int64_t events, int64_t inputs) {
  if (inputs < kFewestInputs) return Habit::kTooFew;
  const double share = static_cast<double>(events) / static_cast<double>(inputs);
  if (share >= kSpecialistShare) return Habit::kSpecialist;
  return share <= kIdleShare ? Habit::kIdle : Habit::kContingent;
}

double rank_correlation(std::span<const double> x, std::span<const double> y) {
  const std::vector<double> a = ranks_of(x), b = ranks_of(y);
  const double mean = (static_cast<double>(a.size()) - 1) / 2;
  double aa = 0, ab = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    aa += (a[i] - mean) * (a[i] - mean);
    ab += (a[i] - mean) * (b[i] - mean);
    bb += (b[i] - mean) * (b[i] - mean);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : kNoData;
}

bool in_second_half(int64_t sequence) {
  return (mix(0, {static_cast<uint64_t>(sequence)}) & 1) != 0;
}

int transition_layer(std::span<const double> first_share, std::span<const int64_t> events) {
  int transition = -1;
  for (size_t layer = 0; layer < first_share.size(); ++layer) {
    if (events[layer] < kFewestEvents) continue;
    if (first_share[layer] > 0.5) {
      transition = -1;
    } else if (transition < 0) {
      transition = static_cast<int>(layer);
    }
  }
  return transition;
}

}  // namespace sinkscope::diagnostics
