#include "sinkscope/diagnostics/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "sinkscope/base/error.h"

namespace sinkscope::diagnostics {

namespace {

constexpr double kStageFloor = 0.05;
constexpr double kNormal95 = 1.959963984540054;

void check(bool holds, const char* flag, double value, const char* range) {
  if (holds) return;
  throw Error(ErrorKind::kUsage, "check thresholds", fmt::format("--{} {}", flag, value),
              fmt::format("--{} takes {}", flag, range));
}

}  // namespace

std::string_view class_name(HeadClass c) {
  switch (c) {
    case HeadClass::kNone: return "none";
    case HeadClass::kNop: return "nop";
    case HeadClass::kBroadcast: return "broadcast";
    case HeadClass::kOther: return "other";
    case HeadClass::kTooShort: return "too_short";
  }
  return "none";
}

int64_t effective_min_queries(int64_t tokens, const Thresholds& thresholds) {
  const int64_t most = thresholds.min_queries;
  const int64_t by_length = std::clamp(tokens, most - most / 2, most);
  const auto by_epsilon = static_cast<int64_t>(std::floor(1 / thresholds.epsilon)) + 1;
  return std::max(by_length, by_epsilon);
}

void check_thresholds(const Thresholds& t) {
  const auto share = [](double x) { return x > 0 && x <= 1; };
  const auto finite = [](double x) { return x >= 0 && std::isfinite(x); };
  check(t.epsilon >= 1e-6 && t.epsilon < 1, "epsilon", t.epsilon, "a share from 1e-6 to below 1");
  check(t.min_queries >= 1, "min-queries", static_cast<double>(t.min_queries), "1 or more");
  check(finite(t.min_lift), "min-lift", t.min_lift, "a number from 0 up");
  check(share(t.event_query_share), "event-query-share", t.event_query_share,
        "a share above 0, at most 1");
  check(share(t.event_mass), "event-mass", t.event_mass, "a share above 0, at most 1");
  check(finite(t.nop_ratio), "nop-ratio", t.nop_ratio, "a number from 0 up");
  check(finite(t.broadcast_ratio) && t.broadcast_ratio > t.nop_ratio, "broadcast-ratio",
        t.broadcast_ratio, "a number above --nop-ratio");
  check(finite(t.broadcast_stable_rank) && t.broadcast_stable_rank >= 1, "broadcast-stable-rank",
        t.broadcast_stable_rank, "a number from 1 up");
  check(finite(t.massive_abs), "massive-abs", t.massive_abs, "a number from 0 up");
  check(finite(t.massive_ratio), "massive-ratio", t.massive_ratio, "a number from 0 up");
}

std::vector<const Diagnostic*> select_diagnostics(std::span<const std::string> names) {
  bool all = false;
  std::vector<const Diagnostic*> named;
  for (const std::string& name : names) {
    if (name == "all") {
      all = true;
    } else {
      named.push_back(&find_diagnostic(name));
    }
  }
  std::vector<const Diagnostic*> chosen;
  for (const Diagnostic& diagnostic : all_diagnostics()) {
    const bool wanted = std::find(named.begin(), named.end(), &diagnostic) != named.end();
    if (all || diagnostic.plain || wanted) chosen.push_back(&diagnostic);
  }
  return chosen;
}

Interval wilson_interval(int64_t successes, int64_t total) {
  if (total <= 0) return {kNoData, kNoData};
  const double n = static_cast<double>(total);
  const double share = static_cast<double>(successes) / n;
  const double z2 = kNormal95 * kNormal95;
  const double centre = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half =
      kNormal95 * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

int formation_layer(std::span<const double> rates) {
  double largest = 0;
  for (const double rate : rates) largest = std::fmax(largest, rate);
  if (largest < kStageFloor) return -1;
  for (size_t layer = 0; layer < rates.size(); ++layer) {
    if (rates[layer] > 0.5 * largest) return static_cast<int>(layer);
  }
  return -1;
}

Placement placement(std::span<const double> rate0, std::span<const double> rate1) {
  double largest = 0, sum0 = 0, sum1 = 0;
  for (size_t layer = 0; layer < rate0.size(); ++layer) {
    largest = std::fmax(largest, rate0[layer]);
    if (!std::isnan(rate0[layer])) sum0 += rate0[layer];
    if (!std::isnan(rate1[layer])) sum1 += rate1[layer];
  }
  Placement result{kNoData, kNoData, kNoData};
  if (rate0.empty()) return result;
  if (largest > 0) result.concentration = rate0[std::min<size_t>(2, rate0.size() - 1)] / largest;
  if (sum0 + sum1 > 0) result.displacement = sum1 / (sum0 + sum1);
  result.reading = largest < kStageFloor ? 0 : result.concentration * (1 - result.displacement);
  return result;
}

}  // namespace sinkscope::diagnostics
