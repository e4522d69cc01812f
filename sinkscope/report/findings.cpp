#include "sinkscope/report/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "sinkscope/report/labels.h"
#include "sinkscope/report/text.h"
#include "sinkscope/store/run_facts.h"

namespace sinkscope::report {
namespace {

using diagnostics::kNoData;
using store::RunResult;

// What is worth a sentence; not verdicts, so not options.
constexpr double kSinkingLayer = 0.25;  ///< sink rate from which a layer belongs to a range
constexpr double kBranchShare = 2;      ///< one branch adds this many times what the other adds
constexpr double kNormJump = 2;         ///< factor by which one block changes ||x_0||

/// The largest value of a head metric and where; layer -1 without data.
struct Peak {
  double value = kNoData;
  int layer = -1, head = -1;
};

Peak largest_head(const RunResult& run, std::string_view metric) {
  Peak peak;
  for (int l = 0; l < run.layers; ++l) {
    for (int h = 0; h < run.heads; ++h) {
      const double value = run.head(metric, l, h);
      if (std::isfinite(value) && !(value <= peak.value)) peak = {value, l, h};
    }
  }
  return peak;
}

Finding no_sink(const RunResult& run, const PositionNames& names, double epsilon) {
  const Peak peak = largest_head(run, "alpha_sink").layer >= 0 ? largest_head(run, "alpha_sink")
                                                               : largest_head(run, "alpha");
  const double index = run.head("sink_index", peak.layer, peak.head);
  const std::string where = names(std::isfinite(index) ? index : 0);
  return {
      "no_sink",
      fmt::format(
          "No head has a sink: the most that one key receives on average is {} ({} on {}), a "
          "sink needs more than {}.",
          number_text(peak.value), head_text(peak.layer, peak.head), where, number_text(epsilon)),
      peak.value,
      "heads[].alpha_sink",
      "heads",
      peak.layer,
      peak.head};
}

/// Heads that usually have a sink, by the position it is on.
std::map<double, int> heads_by_sink(const RunResult& run) {
  std::map<double, int> heads;
  for (int l = 0; l < run.layers; ++l) {
    for (int h = 0; h < run.heads; ++h) {
      const double index = run.head("sink_index", l, h);
      if (run.head("sink", l, h) >= 0.5 && std::isfinite(index)) ++heads[index];
    }
  }
  return heads;
}

void add_sink_rate(const RunResult& run, const PositionNames& names, double epsilon,
                   std::vector<Finding>& findings) {
  const double rate = run.sink_rate(0, run.layers - 1);
  const Peak sink = largest_head(run, "sink");
  if (!std::isfinite(rate) && sink.layer < 0) return;
  if (!(rate > 0) && !(sink.value > 0)) {
    if (largest_head(run, "alpha").layer >= 0) findings.push_back(no_sink(run, names, epsilon));
    return;
  }
  findings.push_back({"sink_rate",
                      fmt::format("{} of all (layer, head, sequence) sink on {}: alpha_0 above {}.",
                                  percent_text(rate), names(0), number_text(epsilon)),
                      rate, "summary.sink_rate", "overview", std::nullopt, std::nullopt});
  auto heads = heads_by_sink(run);
  heads.erase(0);
  int elsewhere = 0;
  for (const auto& entry : heads) elsewhere += entry.second;
  if (elsewhere == 0) return;
  const auto most = std::max_element(
      heads.begin(), heads.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  findings.push_back(
      {"other_positions",
       fmt::format("{} {} a sink elsewhere than on {}, most often on {}.", count_text(elsewhere),
                   elsewhere == 1 ? "head has" : "heads have", names(0), names(most->first)),
       static_cast<double>(elsewhere), "heads[].sink_index", "heads", std::nullopt, std::nullopt});
}

void add_classes(const RunResult& run, double query_share, std::vector<Finding>& findings) {
  std::array<double, 3> events{};
  for (int l = 0; l < run.layers; ++l) {
    for (int h = 0; h < run.heads; ++h) {
      for (int c = 0; c < 3; ++c) {
        const double times = run.head("class_counts", l, h, c);
        if (std::isfinite(times)) events[static_cast<size_t>(c)] += times;
      }
    }
  }
  const double total = events[0] + events[1] + events[2];
  if (total == 0) {
    const Peak conditional = largest_head(run, "conditional");
    if (!(conditional.value > 0)) return;
    findings.push_back(
        {"conditional",
         fmt::format(
             "In no head do {} of the queries use the sink; in {} some do, in {} of the sequences.",
             percent_text(query_share), head_text(conditional.layer, conditional.head),
             percent_text(conditional.value)),
         conditional.value, "heads[].conditional_share", "head", conditional.layer,
         conditional.head});
    return;
  }
  findings.push_back(
      {"classes",
       fmt::format("Of {} sink events {} do nothing (NOP), {} broadcast, {} are neither.",
                   count_text(static_cast<int64_t>(total)), percent_text(events[0] / total),
                   percent_text(events[1] / total), percent_text(events[2] / total)),
       events[0] / total, "heads[].class_counts", "heads", std::nullopt, std::nullopt});
}

struct LayerMean {
  int layer;
  double alpha;  ///< mean alpha_0 of the layer's heads
};

std::vector<LayerMean> mean_alpha(const RunResult& run) {
  std::vector<LayerMean> means;
  for (int l = 0; l < run.layers; ++l) {
    const double mean = layer_alpha(run, l);
    if (std::isfinite(mean)) means.push_back({l, mean});
  }
  return means;
}

/// Neighbouring layers in which at least kSinkingLayer of the heads and sequences sink on
/// position 0.
struct Range {
  int first, last;
  double alpha;  ///< mean of the layers' mean alpha_0
  double rate;   ///< mean of their sink rates
};

std::vector<Range> sink_ranges(const RunResult& run, const std::vector<LayerMean>& means) {
  std::vector<Range> ranges;
  int layers = 0;
  for (const LayerMean& mean : means) {
    const double rate = run.sink_rate(mean.layer, mean.layer);
    if (!(rate >= kSinkingLayer)) continue;
    if (ranges.empty() || ranges.back().last + 1 != mean.layer) {
      ranges.push_back({mean.layer, mean.layer, 0, 0});
      layers = 0;
    }
    Range& range = ranges.back();
    ++layers;
    range.last = mean.layer;
    range.alpha += (mean.alpha - range.alpha) / layers;
    range.rate += (rate - range.rate) / layers;
  }
  return ranges;
}

std::string layer_range(int first, int last) {
  return first == last ? fmt::format("layer {}", first) : fmt::format("layers {}-{}", first, last);
}

void add_stages(const RunResult& run, const PositionNames& names, std::vector<Finding>& findings) {
  const std::vector<LayerMean> means = mean_alpha(run);
  if (means.size() < 2) return;
  const std::vector<Range> ranges = sink_ranges(run, means);
  if (ranges.empty()) {
    const LayerMean& high =
        *std::max_element(means.begin(), means.end(),
                          [](const LayerMean& a, const LayerMean& b) { return a.alpha < b.alpha; });
    findings.push_back({"no_sink_layer",
                        fmt::format("No layer as a whole sinks on {}; the highest mean alpha_0 of "
                                    "a layer is {} (layer {}).",
                                    names(0), number_text(high.alpha), high.layer),
                        high.alpha, "heads[].alpha", "heads", high.layer, std::nullopt});
    return;
  }
  const Range& strong =
      *std::max_element(ranges.begin(), ranges.end(),
                        [](const Range& a, const Range& b) { return a.alpha < b.alpha; });
  std::string weaker;
  for (const Range& range : ranges) {
    if (&range == &strong) continue;
    weaker += fmt::format("{}{} ({}, mean alpha_0 {})", weaker.empty() ? "" : ", ",
                          layer_range(range.first, range.last), percent_text(range.rate),
                          number_text(range.alpha));
  }
  std::string text = fmt::format("{} on {} in {} (sink rate {}, mean alpha_0 {})",
                                 ranges.size() > 1 ? "Strong sinks" : "Sinks", names(0),
                                 layer_range(strong.first, strong.last), percent_text(strong.rate),
                                 number_text(strong.alpha));
  if (!weaker.empty()) text += "; weaker ones in " + weaker;
  findings.push_back({"strong_layers", text + ".", strong.alpha, "heads[].alpha", "heads",
                      strong.first, std::nullopt});
}

/// The block that changes ||x_0|| by the largest factor; upwards (sign 1) or downwards (-1).
struct Jump {
  int layer = -1;
  double factor = 0, before = 0, after = 0;
};

Jump largest_jump(const RunResult& run, int sign) {
  Jump best;
  double before = run.sequence("embed_norm_p0");
  for (int l = 0; l < run.layers; ++l) {
    const double after = run.layer("resid_norm_p0", l);
    const double factor = sign > 0 ? after / before : before / after;
    if (std::isfinite(factor) && factor > best.factor) best = {l, factor, before, after};
    before = after;
  }
  return best;
}

/// "The MLP of block" or "The attention of block" where that branch alone accounts for what the
/// block adds to position 0; otherwise "Block".
std::string writer_of(const RunResult& run, int layer) {
  const double attention = run.layer("attn_out_norm_p0", layer),
               mlp = run.layer("mlp_out_norm_p0", layer);
  if (mlp >= kBranchShare * attention) return "The MLP of block";
  if (attention >= kBranchShare * mlp) return "The attention of block";
  return "Block";
}

std::string lower_first(std::string text) {
  if (text.starts_with("The")) text[0] = 't';
  if (text.starts_with("Block")) text[0] = 'b';
  return text;
}

/// The largest |x| that any layer lists; layer -1 without data.
struct Extreme {
  int layer = -1;
  double channel = 0, position = 0, value = 0;
};

Extreme largest_activation(const RunResult& run) {
  Extreme best;
  for (int l = 0; l < run.layers; ++l) {
    const double value = run.layer("top_activations", l, 2);
    if (!std::isfinite(value) || std::abs(value) <= std::abs(best.value)) continue;
    best = {l, run.layer("top_activations", l, 0), run.layer("top_activations", l, 1), value};
  }
  return best;
}

void add_writer(const RunResult& run, const PositionNames& names, std::vector<Finding>& findings) {
  const Jump up = largest_jump(run, 1);
  if (up.layer < 0 || up.factor < kNormJump) return;
  std::string text =
      fmt::format("{} {} raises the norm of {} most: {} to {} (other positions: {})",
                  writer_of(run, up.layer), up.layer, names(0), number_text(up.before),
                  number_text(up.after), number_text(run.layer("resid_norm_median", up.layer)));
  const Jump down = largest_jump(run, -1);
  if (down.layer > up.layer && down.factor >= kNormJump) {
    text += fmt::format("; {} {} takes it back to {}", lower_first(writer_of(run, down.layer)),
                        down.layer, number_text(down.after));
  }
  findings.push_back({"norm_writer", text + ".", up.after, "layers[].resid_norm_p0", "circuit",
                      up.layer, std::nullopt});
}

void add_massive(const RunResult& run, const PositionNames& names,
                 const diagnostics::Thresholds& thresholds, std::vector<Finding>& findings) {
  const Extreme extreme = largest_activation(run);
  if (extreme.layer < 0) return;
  const double median = run.layer("median_abs", extreme.layer), size = std::abs(extreme.value);
  const std::string place =
      fmt::format("channel {:.0f} of {}", extreme.channel, names(extreme.position));
  const bool massive = size > thresholds.massive_abs && size > thresholds.massive_ratio * median;
  const std::string text =
      massive ? fmt::format("Massive activation: {} holds {} after block {} (median |x| {}).",
                            place, number_text(extreme.value), extreme.layer, number_text(median))
              : fmt::format(
                    "No massive activation: the largest is {} ({} after block {}, median |x| {}).",
                    number_text(extreme.value), place, extreme.layer, number_text(median));
  findings.push_back({massive ? "massive" : "no_massive", text, extreme.value,
                      "layers[].top_activations", "circuit", extreme.layer, std::nullopt});
}

}  // namespace

double layer_alpha(const RunResult& run, int layer) {
  double sum = 0;
  int heads = 0;
  for (int h = 0; h < run.heads; ++h) {
    const double alpha = run.head("alpha", layer, h);
    if (std::isfinite(alpha)) sum += alpha, ++heads;
  }
  return heads == 0 ? kNoData : sum / heads;
}

std::vector<Finding> find_findings(const RunResult& run) {
  const diagnostics::Thresholds thresholds = store::read_identity(run.identity).thresholds;
  const PositionNames names(run, store::read_facts(run.facts));
  std::vector<Finding> findings;
  add_sink_rate(run, names, thresholds.epsilon, findings);
  const bool sinks = findings.empty() || findings.front().key != "no_sink";
  if (sinks) {
    add_classes(run, thresholds.event_query_share, findings);
    add_stages(run, names, findings);
  }
  add_writer(run, names, findings);
  add_massive(run, names, thresholds, findings);
  return findings;
}

}  // namespace sinkscope::report
