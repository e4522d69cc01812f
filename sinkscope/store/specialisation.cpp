#include "sinkscope/diagnostics/specialisation.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sinkscope/diagnostics/median.h"
#include "sinkscope/diagnostics/summary.h"
#include "sinkscope/diagnostics/token_type.h"
#include "sinkscope/store/derived.h"

namespace sinkscope::store {
namespace {

using diagnostics::kNoData;
using diagnostics::kTokenTypes;
using diagnostics::Scope;
using TypeCounts = std::array<int64_t, kTokenTypes>;

/// Events of the head at `entry` of a layer, and the sequences in which it was judged.
struct HeadEvents {
  int64_t events = 0, inputs = 0;
  double share() const { return static_cast<double>(events) / static_cast<double>(inputs); }
};

HeadEvents head_events(const RunResult& run, size_t layer, size_t head) {
  const double share = run.value.at("event")[layer][head];
  const int64_t inputs = run.count.at("event")[layer][head];
  if (inputs == 0) return {};
  return {std::llround(share * static_cast<double>(inputs)), inputs};
}

/// event minus the median of the layer's other heads.
double contrast(const std::vector<double>& shares, size_t head) {
  std::vector<double> others;
  for (size_t h = 0; h < shares.size(); ++h) {
    if (h != head && !std::isnan(shares[h])) others.push_back(shares[h]);
  }
  return shares[head] - diagnostics::median(std::move(others));
}

void add_habits(RunResult& run) {
  Aggregated interval = no_values(run, "event", 2), against = no_values(run, "event", 1),
             habit = against;
  for (size_t layer = 0; layer < habit.value.size(); ++layer) {
    for (size_t h = 0; h < habit.value[layer].size(); ++h) {
      const HeadEvents head = head_events(run, layer, h);
      if (head.inputs == 0) continue;
      const auto [low, high] = diagnostics::wilson_interval(head.events, head.inputs);
      interval.value[layer][2 * h] = low, interval.value[layer][2 * h + 1] = high;
      against.value[layer][h] = contrast(run.value.at("event")[layer], h);
      habit.value[layer][h] =
          static_cast<double>(diagnostics::head_habit(head.events, head.inputs));
      interval.count[layer][2 * h] = interval.count[layer][2 * h + 1] = head.inputs;
      against.count[layer][h] = habit.count[layer][h] = head.inputs;
    }
  }
  // clang-format off
  add_derived(run, {.name = "event_interval", .unit = "share",
                    .definition = "Wilson 95 % interval of event_share: low, high", .width = 2}, std::move(interval));
  add_derived(run, {.name = "event_contrast", .unit = "share",
                    .definition = "event_share minus the median of the other heads of the layer"}, std::move(against));
  add_derived(run, {.name = "habit", .unit = "", .definition = "0 idle (event_share <= 0.05), 1 contingent, 2 specialist "
                    "(>= 0.8), 3 too few inputs (below 30)", .aggregate = diagnostics::Aggregate::kMode}, std::move(habit));
  // clang-format on
}

/// [layer][head] events of each type; codes that are none are left out.
std::vector<std::vector<TypeCounts>> count_types(const RunResult& run,
                                                 const SequenceValues& types) {
  std::vector<std::vector<TypeCounts>> counts;
  for (const auto& heads : run.value.at("sink_type")) counts.emplace_back(heads.size());
  for (const auto& [sequence, layers] : types) {
    for (size_t layer = 0; layer < std::min(layers.size(), counts.size()); ++layer) {
      for (size_t h = 0; h < std::min(layers[layer].size(), counts[layer].size()); ++h) {
        const double code = layers[layer][h];
        if (code >= 0 && code < kTokenTypes) ++counts[layer][h][static_cast<size_t>(code)];
      }
    }
  }
  return counts;
}

void add_type_spread(RunResult& run, const SequenceValues& types) {
  const auto counts = count_types(run, types);
  Aggregated share = no_values(run, "sink_type", 1), entropy = share;
  for (size_t layer = 0; layer < share.value.size(); ++layer) {
    for (size_t h = 0; h < share.value[layer].size(); ++h) {
      int64_t total = 0, most = 0;
      for (const int64_t n : counts[layer][h]) total += n, most = std::max(most, n);
      if (total == 0) continue;
      double nats = 0;
      for (const int64_t n : counts[layer][h]) {
        const double p = static_cast<double>(n) / static_cast<double>(total);
        if (n > 0) nats -= p * std::log(p);
      }
      share.value[layer][h] = static_cast<double>(most) / static_cast<double>(total);
      entropy.value[layer][h] = nats;
      share.count[layer][h] = entropy.count[layer][h] = total;
    }
  }
  // clang-format off
  add_derived(run, {.name = "sink_type_share", .unit = "share",
                    .definition = "share of the head's events on its most frequent type"}, std::move(share));
  add_derived(run, {.name = "sink_type_entropy", .unit = "nats",
                    .definition = "entropy of the types of the head's events"}, std::move(entropy));
  // clang-format on
}

/// Share of each type in a layer's events; a layer without events stays blank.
void add_type_shares(RunResult& run) {
  Aggregated shares = no_values(run, "type_events", 1);
  std::vector<double> first_share(shares.value.size(), kNoData);
  std::vector<int64_t> events(shares.value.size());
  for (size_t layer = 0; layer < shares.value.size(); ++layer) {
    if (shares.value[layer].empty()) continue;
    const std::vector<double>& counts = run.value.at("type_events")[layer];
    double total = 0;
    for (const double n : counts) total += n;
    if (!(total > 0)) continue;
    for (size_t type = 0; type < counts.size(); ++type) {
      shares.value[layer][type] = counts[type] / total;
      shares.count[layer][type] = run.count.at("type_events")[layer][type];
    }
    first_share[layer] = 0, events[layer] = static_cast<int64_t>(total);
    for (const diagnostics::TokenType type : diagnostics::kFirstTypes) {
      first_share[layer] += shares.value[layer][static_cast<size_t>(type)];
    }
  }
  const int transition = diagnostics::transition_layer(first_share, events);
  // clang-format off
  add_derived(run, {.name = "type_share", .unit = "share",
                    .definition = "share of each type in the events of the layer, in the order of sink_type",
                    .scope = Scope::kLayer, .width = kTokenTypes}, std::move(shares));
  add_derived(run, {.name = "transition_layer", .unit = "",
                    .definition = "first layer from which on at most half of the events fall on BOS, CLS or first token, "
                    "over layers with at least 20 events", .aggregate = diagnostics::Aggregate::kMode},
              transition < 0 ? kNoData : transition);
  // clang-format on
}

/// Correlation of the heads' event shares over two random halves of the sequences.
void add_reliability(RunResult& run, const SequenceValues& events) {
  std::vector<std::vector<HeadEvents>> halves[2];
  for (auto& half : halves) {
    for (const auto& heads : run.value.at("event")) half.emplace_back(heads.size());
  }
  for (const auto& [sequence, layers] : events) {
    auto& half = halves[diagnostics::in_second_half(sequence) ? 1 : 0];
    for (size_t layer = 0; layer < std::min(layers.size(), half.size()); ++layer) {
      for (size_t h = 0; h < std::min(layers[layer].size(), half[layer].size()); ++h) {
        const double event = layers[layer][h];
        if (std::isnan(event)) continue;
        half[layer][h].events += event == 1;
        half[layer][h].inputs += 1;
      }
    }
  }
  std::vector<double> shares[2];
  for (size_t layer = 0; layer < halves[0].size(); ++layer) {
    for (size_t h = 0; h < halves[0][layer].size(); ++h) {
      const HeadEvents& one = halves[0][layer][h];
      const HeadEvents& other = halves[1][layer][h];
      if (one.inputs == 0 || other.inputs == 0) continue;
      shares[0].push_back(one.share()), shares[1].push_back(other.share());
    }
  }
  // clang-format off
  add_derived(run, {.name = "split_half", .unit = "",
                    .definition = "Spearman correlation over heads of event_share in two random halves of the inputs"},
              diagnostics::rank_correlation(shares[0], shares[1]));
  // clang-format on
}

}  // namespace

void add_specialisation(RunResult& run, const SequenceValues& events, const SequenceValues& types) {
  if (!has_metric(run, "event", Scope::kHead, 1) ||
      !has_metric(run, "sink_type", Scope::kHead, 1) ||
      !has_metric(run, "type_events", Scope::kLayer, kTokenTypes)) {
    return;
  }
  add_habits(run);
  add_type_spread(run, types);
  add_type_shares(run);
  add_reliability(run, events);
}

}  // namespace sinkscope::store
