#include "sinkscope/store/derived.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sinkscope/diagnostics/specialisation.h"
#include "sinkscope/diagnostics/summary.h"
#include "sinkscope/stats/site.h"
#include "sinkscope/store/errors.h"
#include "sinkscope/store/run_facts.h"

namespace sinkscope::store {
namespace {

using diagnostics::kNoData;
using diagnostics::Scope;

/// Directions of one site at one layer: for each tracked position the number of sequences, then the
/// sum of their unit vectors.
struct Directions {
  std::span<const double> values;
  size_t width;
  size_t positions() const { return values.size() / (width + 1); }
  double count(size_t p) const { return values[p * (width + 1)]; }
  double length_square(size_t p) const {
    double square = 0;
    for (const double x : values.subspan(p * (width + 1) + 1, width)) square += x * x;
    return square;
  }
};

/// By layer, the directions of a site; none where the layer has no sum, or the run was stopped
/// before it wrote the model's width.
std::vector<Directions> directions_of(const RunResult& run, std::string_view site) {
  const std::string name = fmt::format("direction.{}", site);
  const int64_t width = read_facts(run.facts).d_model;
  std::vector<Directions> layers;
  for (const RunSum& sum : run.sums) {
    if (sum.name != name || width == 0) continue;
    if (width < 0 || sum.layer >= run.layers ||
        sum.values.size() % static_cast<size_t>(width + 1)) {
      throw damaged_store(
          fmt::format("run sum {} of layer {}: {} values for a model of {} layers, "
                      "width {}",
                      name, sum.layer, sum.values.size(), run.layers, width));
    }
    layers.resize(static_cast<size_t>(sum.layer) + 1);
    layers.back() = {sum.values, static_cast<size_t>(width)};
  }
  return layers;
}

void add_site(RunResult& run, std::string_view site) {
  const std::vector<Directions> layers = directions_of(run, site);
  size_t positions = 0;
  for (const Directions& layer : layers) positions = std::max(positions, layer.positions());
  if (positions == 0) return;
  positions = std::max<size_t>(positions, 2);  // a list in every report, also of single tokens
  Aggregated length{std::vector<std::vector<double>>(static_cast<size_t>(run.layers)),
                    std::vector<std::vector<int64_t>>(static_cast<size_t>(run.layers))};
  Aggregated cosine = length;
  for (size_t l = 0; l < layers.size(); ++l) {
    if (layers[l].positions() == 0) continue;
    length.value[l].assign(positions, kNoData), length.count[l].assign(positions, 0);
    cosine.value[l] = length.value[l], cosine.count[l] = length.count[l];
    for (size_t p = 0; p < layers[l].positions(); ++p) {
      const double n = layers[l].count(p), square = layers[l].length_square(p);
      if (!(n >= 1 && std::isfinite(square))) continue;
      length.value[l][p] = std::sqrt(square) / n;
      if (n >= 2) cosine.value[l][p] = (square - n) / (n * (n - 1));
      length.count[l][p] = cosine.count[l][p] = static_cast<int64_t>(n);
    }
  }
  // clang-format off
  const char* entries = "positions 0, 1, 2, 3, 4, 8, 16, ... (2^(i-2) at entry i)";
  add_derived(run, {.name = fmt::format("consistency_{}", site), .unit = "",
                    .definition = fmt::format("length of the mean over inputs of the unit vectors of {}, at {}", site, entries),
                    .scope = Scope::kLayer, .width = static_cast<int>(positions)}, std::move(length));
  add_derived(run, {.name = fmt::format("direction_cos_{}", site), .unit = "",
                    .definition = fmt::format("mean cosine over pairs of inputs of {}, at {}", site, entries),
                    .scope = Scope::kLayer, .width = static_cast<int>(positions)}, std::move(cosine));
  // clang-format on
}

/// The sink rate of a position in each layer, the mean over heads of plain_rate.
std::vector<double> rates_of(const RunResult& run, size_t position) {
  std::vector<double> rates;
  const auto& values = run.value.at("plain_rate");
  const auto& counts = run.count.at("plain_rate");
  for (size_t layer = 0; layer < values.size(); ++layer) {
    double sinks = 0, judged = 0;
    for (size_t i = position; i < values[layer].size(); i += 4) {
      const auto n = static_cast<double>(counts[layer][i]);
      if (n > 0) sinks += values[layer][i] * n, judged += n;
    }
    rates.push_back(judged > 0 ? sinks / judged : kNoData);
  }
  return rates;
}

void add_placement(RunResult& run) {
  if (!has_metric(run, "plain_rate", Scope::kHead, 4)) return;
  const diagnostics::Placement found = diagnostics::placement(rates_of(run, 0), rates_of(run, 1));
  // clang-format off
  add_derived(run, {.name = "sink_concentration", .unit = "",
                    .definition = "Sink_0 of layer 2 (of the last one where there are fewer) / largest Sink_0 of a layer"},
              found.concentration);
  add_derived(run, {.name = "sink_displacement", .unit = "share",
                    .definition = "sum over layers of Sink_1 / sum over layers of Sink_0 + Sink_1"}, found.displacement);
  add_derived(run, {.name = "sink_reading", .unit = "",
                    .definition = "sink_concentration (1 - sink_displacement); 0 where no layer reaches 0.05"},
              found.reading);
  // clang-format on
}

/// Rank correlation over the heads of block 0 of how even their attention is and how much of the
/// separation of position 0 is theirs.
double separation_rank(const RunResult& run) {
  std::vector<double> entropy, separation;
  for (int h = 0; h < run.heads; ++h) {
    const double e = run.head("entropy_norm", 0, h), s = run.head("p0_separation_head", 0, h);
    if (!std::isnan(e) && !std::isnan(s)) entropy.push_back(e), separation.push_back(s);
  }
  return diagnostics::rank_correlation(entropy, separation);
}

/// What the verdict on the circuit needs of one run.
void add_circuit_parts(RunResult& run) {
  double sum = 0, least = kNoData;
  int layers = 0;
  for (int layer = 2; layer < run.layers; ++layer) {
    const double cosine = run.layer("direction_cos_resid_post", layer);
    if (std::isnan(cosine)) continue;
    sum += cosine, ++layers;
    least = std::fmin(least, cosine);
  }
  // clang-format off
  add_derived(run, {.name = "p0_norm_ratio", .unit = "",
                    .definition = "resid_norm_ratio of layer 1 (of the last one where there are fewer)"},
              run.layer("resid_norm_ratio", std::min(1, run.layers - 1)));
  add_derived(run, {.name = "p0_cosine", .unit = "",
                    .definition = "mean over layers >= 2 of direction_cos_resid_post of position 0"},
              layers == 0 ? kNoData : sum / layers);
  add_derived(run, {.name = "p0_cosine_least", .unit = "",
                    .definition = "least of the same"}, least);
  add_derived(run, {.name = "p0_separation_rank", .unit = "",
                    .definition = "Spearman correlation of entropy_norm and p0_separation_head over the heads of block 0"},
              separation_rank(run));
  // clang-format on
}

}  // namespace

bool has_metric(const RunResult& run, std::string_view name, Scope scope, int width) {
  return std::any_of(run.metrics.begin(), run.metrics.end(), [&](const StoredMetric& m) {
    return m.name == name && m.scope == scope && m.width == width;
  });
}

void add_derived(RunResult& run, StoredMetric metric, Aggregated values) {
  run.value[metric.name] = std::move(values.value);
  run.count[metric.name] = std::move(values.count);
  run.metrics.push_back(std::move(metric));
}

void add_derived(RunResult& run, StoredMetric metric, double value) {
  metric.scope = Scope::kSequence;
  const int64_t count = std::isnan(value) ? 0 : std::ssize(run.sequences);
  add_derived(run, std::move(metric), Aggregated{{{value}}, {{count}}});
}

Aggregated no_values(const RunResult& run, std::string_view like, size_t width) {
  Aggregated none;
  for (const auto& row : run.value.find(like)->second) {
    none.value.emplace_back(row.size() * width, kNoData);
    none.count.emplace_back(row.size() * width, 0);
  }
  return none;
}

void add_circuit(RunResult& run) {
  if (!has_metric(run, "p0_applies", Scope::kLayer, 1)) return;
  for (const std::string_view site : stats::kSiteNames) add_site(run, site);
  add_circuit_parts(run);
  add_placement(run);
}

void add_range(RunResult& run) {
  if (!has_metric(run, "fp16_overflows", Scope::kLayer, 1)) return;
  int first = 0;
  while (first < run.layers && !(run.layer("fp16_overflows", first) > 0)) ++first;
  // clang-format off
  add_derived(run, {.name = "fp16_first_layer", .unit = "", .definition = "first layer with fp16_overflows",
                    .aggregate = diagnostics::Aggregate::kMode}, first < run.layers ? first : kNoData);
  add_derived(run, {.name = "fp16_first_channel", .unit = "", .definition = "fp16_overflow_channel of that layer",
                    .aggregate = diagnostics::Aggregate::kMode}, run.layer("fp16_overflow_channel", first));
  // clang-format on
}

}  // namespace sinkscope::store
