#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sinkscope/diagnostics/heads.h"
#include "sinkscope/diagnostics/table.h"

namespace sinkscope::diagnostics {

namespace {

constexpr int kChannels = 4;

// clang-format off
constexpr MetricInfo kTop{"top_activations", Scope::kLayer, 9, Aggregate::kMode, "",
    "channel, position and value of the three largest |x| after the block, largest first"};
constexpr MetricInfo kMedian{"median_abs", Scope::kLayer, 1, Aggregate::kMean, "",
    "median |x| over all positions and channels after the block"};
constexpr MetricInfo kCount{"massive_count", Scope::kLayer, 1, Aggregate::kSum, "activations",
    "number of entries with |x| > massive_abs and |x| > massive_ratio x median_abs after the block"};
constexpr MetricInfo kMassiveChannels{"massive_channels", Scope::kLayer, kChannels, Aggregate::kMode, "",
    "up to four channels that hold massive activations, largest |x| first"};
constexpr MetricInfo kMedianZero{"median_zero", Scope::kLayer, 1, Aggregate::kMean, "share",
    "1 when median_abs is 0 and massive is judged by massive_abs alone"};
constexpr MetricInfo kCapped{"massive_capped", Scope::kLayer, 1, Aggregate::kMean, "share",
    "1 when more entries exceed massive_abs than are kept, so that massive_count is a lower bound"};
// clang-format on

constexpr MetricInfo kMetrics[] = {kTop, kMedian, kCount, kMassiveChannels, kMedianZero, kCapped};

/// Channels of the massive entries with the largest |x| of each, largest first; ties: lowest.
std::vector<int64_t> channels_by_size(const std::map<int64_t, double>& largest) {
  std::vector<std::pair<double, int64_t>> order;
  for (const auto& [channel, size] : largest) order.emplace_back(-size, channel);
  std::sort(order.begin(), order.end());
  std::vector<int64_t> channels;
  for (const auto& [size, channel] : order) channels.push_back(channel);
  return channels;
}

void write_top(const stats::ResidualValues& state, std::span<double> out) {
  for (size_t i = 0; i < state.top.size(); ++i) {
    out[3 * i] = static_cast<double>(state.top[i].channel);
    out[3 * i + 1] = static_cast<double>(state.top[i].position);
    out[3 * i + 2] = state.top[i].value;
  }
}

constexpr Part kNeeds[] = {Part::kResidual};

void measure(const LayerInput& input, const Thresholds& thresholds, Record& record) {
  create_metrics(kMetrics, input.layer, record);
  if (!input.residual_out) return;
  const stats::ResidualValues& state = *input.residual_out;
  const double floor =
      std::max(thresholds.massive_abs, thresholds.massive_ratio * state.median_abs);
  int64_t count = 0;
  std::map<int64_t, double> largest;
  for (const stats::TopActivation& entry : state.large) {
    const double size = std::abs(entry.value);
    if (size <= floor) continue;
    ++count;
    double& known = largest[entry.channel];
    known = std::max(known, size);
  }
  const int layer = input.layer;
  write_top(state, record.values(kTop, layer));
  record.values(kMedian, layer)[0] = state.median_abs;
  record.values(kCount, layer)[0] = static_cast<double>(count);
  record.values(kMedianZero, layer)[0] = state.median_abs == 0;
  record.values(kCapped, layer)[0] = state.large_count > static_cast<int64_t>(state.large.size());
  const std::vector<int64_t> channels = channels_by_size(largest);
  for (size_t i = 0; i < std::min<size_t>(kChannels, channels.size()); ++i) {
    record.values(kMassiveChannels, layer)[i] = static_cast<double>(channels[i]);
  }
}

}  // namespace

Diagnostic massive_diagnostic() { return {"massive", true, kMetrics, kNeeds, measure, nullptr}; }

}  // namespace sinkscope::diagnostics
