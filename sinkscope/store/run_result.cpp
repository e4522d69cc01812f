#include "sinkscope/store/run_result.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sinkscope/diagnostics/summary.h"
#include "sinkscope/store/aggregate.h"
#include "sinkscope/store/derived.h"
#include "sinkscope/store/errors.h"
#include "sinkscope/store/run_facts.h"

namespace sinkscope::store {
namespace {

using diagnostics::kNoData;
using diagnostics::Scope;

constexpr std::array<std::string_view, 4> kEventMetrics = {"ratio_head", "ratio_out", "stable_rank",
                                                           "common_mode"};
constexpr int64_t kMaxCount = 65536;  // layers or heads; damaged facts must not ask for memory

void add(RunResult& run, StoredMetric metric, Aggregated aggregated) {
  run.value[metric.name] = std::move(aggregated.value);
  run.count[metric.name] = std::move(aggregated.count);
  run.metrics.push_back(std::move(metric));
}

void add_event_metric(RunResult& run, const StoredMetric& metric, const SequenceValues& values,
                      const SequenceValues& events) {
  const Mask mask{events, static_cast<size_t>(metric.width)};
  add(run, metric, aggregate(values, metric.aggregate, &mask));
  if (metric.name == "ratio_out") {
    StoredMetric all = metric;
    all.name = "ratio_out_all";
    all.definition = "ratio_out averaged over all sequences, with or without an event";
    add(run, std::move(all), aggregate(values, metric.aggregate));
  }
}

void add_metric(RunResult& run, const Store& store, const StoredMetric& metric,
                const SequenceValues& events) {
  const SequenceValues values = store.values(metric.name);
  if (std::find(kEventMetrics.begin(), kEventMetrics.end(), metric.name) != kEventMetrics.end()) {
    add_event_metric(run, metric, values, events);
  } else if (metric.name == "class") {
    add(run, metric, majority_class(values));
    StoredMetric counts = metric;
    counts.name = "class_counts";
    counts.width = 3;
    counts.aggregate = diagnostics::Aggregate::kSum;
    counts.unit = "sequences";
    counts.definition = "number of sequences with an event of class nop, broadcast, other";
    add(run, std::move(counts), class_counts(values));
  } else if (metric.name == "top_activations") {
    add(run, metric, top_places(values));
  } else {
    add(run, metric, aggregate(values, metric.aggregate));
  }
  if (metric.name == "sink_index") {
    StoredMetric share = metric;
    share.name = "sink_index_share";
    share.unit = "share";
    share.definition =
        "share of the sequences with a dominant key whose key is the most frequent one";
    add(run, std::move(share), mode_share(values));
  }
}

/// Layers and heads from the facts or, where these are silent, from the data.
void read_sizes(RunResult& run, const RunFacts& facts) {
  int64_t layers = facts.layers, heads = facts.heads;
  for (const StoredMetric& metric : run.metrics) {
    const auto& rows = run.value.at(metric.name);
    if (metric.scope == Scope::kSequence || rows.empty()) continue;
    if (facts.layers == 0) layers = std::max<int64_t>(layers, std::ssize(rows));
    if (facts.heads == 0 && metric.scope == Scope::kHead) {
      heads = std::max<int64_t>(heads, std::ssize(rows.front()) / metric.width);
    }
  }
  const int64_t kv_heads = facts.kv_heads == 0 ? heads : facts.kv_heads;
  if (layers < 0 || layers > kMaxCount || heads < 0 || heads > kMaxCount || kv_heads < 0 ||
      (heads > 0 && (kv_heads < 1 || heads % kv_heads != 0))) {
    throw damaged_store("facts: " + std::to_string(layers) + " layers, " + std::to_string(heads) +
                        " heads, " + std::to_string(kv_heads) + " key/value heads");
  }
  run.layers = static_cast<int>(layers), run.heads = static_cast<int>(heads);
  run.kv_heads = static_cast<int>(kv_heads);
}

/// Every later reader relies on the sizes, so they are made true here, once. Rows without data stay
/// empty: sizes that only the facts claim cost no memory.
void check_shapes(RunResult& run) {
  for (const StoredMetric& metric : run.metrics) {
    auto& rows = run.value.at(metric.name);
    auto& counts = run.count.at(metric.name);
    const size_t layers = metric.scope == Scope::kSequence ? 1 : static_cast<size_t>(run.layers);
    const size_t entries = static_cast<size_t>(metric.width) *
                           (metric.scope == Scope::kHead ? static_cast<size_t>(run.heads) : 1);
    if (rows.size() > layers) {
      throw damaged_store("metric " + metric.name + ": " + std::to_string(rows.size()) +
                          " layers, the model has " + std::to_string(layers));
    }
    rows.resize(layers), counts.resize(layers);
    for (size_t layer = 0; layer < layers; ++layer) {
      if (!rows[layer].empty() && rows[layer].size() != entries) {
        throw damaged_store("metric " + metric.name + ": " + std::to_string(rows[layer].size()) +
                            " values at layer " + std::to_string(layer) + ", expected " +
                            std::to_string(entries));
      }
    }
  }
}

void check_curves(const RunResult& run) {
  if (std::ssize(run.curves) > run.layers) {
    throw damaged_store("curves of " + std::to_string(run.curves.size()) +
                        " layers, the model has " + std::to_string(run.layers));
  }
  for (const Curve& curve : run.curves) {
    if (curve.positions > 0 && std::ssize(curve.mass) != run.heads * curve.positions) {
      throw damaged_store("curve of " + std::to_string(curve.mass.size()) + " values for " +
                          std::to_string(run.heads) + " heads x " +
                          std::to_string(curve.positions) + " positions");
    }
  }
}

double at(const RunResult& run, std::string_view metric, int row, int entry) {
  const auto found = run.value.find(metric);
  if (found == run.value.end() || row < 0 || row >= std::ssize(found->second)) return kNoData;
  const auto& values = found->second[static_cast<size_t>(row)];
  return entry < 0 || entry >= std::ssize(values) ? kNoData : values[static_cast<size_t>(entry)];
}

}  // namespace

double RunResult::sink_rate(int first_layer, int last_layer) const {
  const auto rates = value.find("plain_rate");
  const auto counts = count.find("plain_rate");
  if (rates == value.end() || heads == 0) return kNoData;
  double sinks = 0, judged = 0;
  for (int l = std::max(0, first_layer); l <= last_layer && l < std::ssize(rates->second); ++l) {
    const auto& rate = rates->second[static_cast<size_t>(l)];
    const auto& times = counts->second[static_cast<size_t>(l)];
    const size_t width = rate.size() / static_cast<size_t>(heads);  // position 0 is the first entry
    for (size_t i = 0; i < rate.size(); i += width) {
      if (times[i] == 0) continue;
      sinks += rate[i] * static_cast<double>(times[i]);
      judged += static_cast<double>(times[i]);
    }
  }
  return judged == 0 ? kNoData : sinks / judged;
}

int RunResult::formation_layer() const {
  std::vector<double> rates;
  for (int l = 0; l < layers; ++l) rates.push_back(sink_rate(l, l));
  return diagnostics::formation_layer(rates);
}

RunResult read_run(const Store& store) {
  RunResult run;
  run.identity = store.identity();
  run.facts = store.facts();
  run.sequences = store.sequences();
  run.curves = store.curves();
  run.sums = store.run_sums();
  const SequenceValues events = store.values("event");
  for (const StoredMetric& metric : store.metrics()) add_metric(run, store, metric, events);
  read_sizes(run, read_facts(run.facts));
  check_shapes(run);
  check_curves(run);
  add_specialisation(run, events, store.values("sink_type"));
  add_circuit(run);
  add_range(run);
  return run;
}

bool RunResult::measured(int layer) const {
  for (const StoredMetric& metric : metrics) {
    if (metric.scope == Scope::kSequence) continue;
    const auto& rows = count.at(metric.name);
    if (layer < 0 || layer >= std::ssize(rows)) continue;
    const auto& counts = rows[static_cast<size_t>(layer)];
    if (std::any_of(counts.begin(), counts.end(), [](int64_t n) { return n > 0; })) return true;
  }
  return false;
}

bool RunResult::measured(int layer, int head) const {
  for (const StoredMetric& metric : metrics) {
    if (metric.scope != Scope::kHead) continue;
    const auto& rows = count.at(metric.name);
    if (layer < 0 || layer >= std::ssize(rows) || head < 0 || head >= heads) continue;
    if (rows[static_cast<size_t>(layer)].empty()) continue;
    const auto first =
        rows[static_cast<size_t>(layer)].begin() + std::ptrdiff_t{head} * metric.width;
    if (std::any_of(first, first + metric.width, [](int64_t n) { return n > 0; })) return true;
  }
  return false;
}

std::vector<StoredMetric> RunResult::metrics_of(Scope scope) const {
  std::vector<StoredMetric> chosen;
  std::copy_if(metrics.begin(), metrics.end(), std::back_inserter(chosen),
               [scope](const StoredMetric& m) { return m.scope == scope; });
  return chosen;
}

double RunResult::head(std::string_view metric, int layer, int head, int i) const {
  if (heads == 0) return kNoData;
  const auto found = value.find(metric);
  if (found == value.end() || layer < 0 || layer >= std::ssize(found->second)) return kNoData;
  const int width = static_cast<int>(std::ssize(found->second[static_cast<size_t>(layer)])) / heads;
  return head < 0 || head >= heads || i < 0 || i >= width
             ? kNoData
             : at(*this, metric, layer, head * width + i);
}

double RunResult::layer(std::string_view metric, int layer, int i) const {
  return at(*this, metric, layer, i);
}

double RunResult::sequence(std::string_view metric, int i) const { return at(*this, metric, 0, i); }

}  // namespace sinkscope::store
