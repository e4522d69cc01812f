#include <algorithm>
#include <cmath>

#include "sinkscope/diagnostics/heads.h"
#include "sinkscope/diagnostics/median.h"
#include "sinkscope/diagnostics/table.h"
#include "sinkscope/stats/circuit_values.h"

namespace sinkscope::diagnostics {

namespace {

using stats::CircuitValues;
using stats::Site;

// clang-format off
constexpr MetricInfo kApplies{"p0_applies", Scope::kLayer, 1, Aggregate::kMean, "share",
    "1 when no query sees later keys, so that the mask sets position 0 apart; 0: nothing below has data"};
constexpr MetricInfo kAttnMedian{"attn_out_norm_median", Scope::kLayer, 1, Aggregate::kMean, "",
    "median over the rest of the length of what attention adds; the rest: tokens that start no document"};
constexpr MetricInfo kAttnRatio{"attn_out_norm_ratio", Scope::kLayer, 1, Aggregate::kMean, "",
    "length of what attention adds to position 0 / attn_out_norm_median"};
constexpr MetricInfo kAttnAuc{"attn_out_auc", Scope::kLayer, 1, Aggregate::kMean, "share",
    "share of the rest to which attention adds a shorter vector than to position 0, ties half"};
constexpr MetricInfo kMidFirst{"resid_mid_norm_p0", Scope::kLayer, 1, Aggregate::kMean, "",
    "||x_0|| between attention and MLP"};
constexpr MetricInfo kMidMedian{"resid_mid_norm_median", Scope::kLayer, 1, Aggregate::kMean, "",
    "median over the rest of ||x_t|| between attention and MLP"};
constexpr MetricInfo kMidRatio{"resid_mid_norm_ratio", Scope::kLayer, 1, Aggregate::kMean, "",
    "resid_mid_norm_p0 / resid_mid_norm_median"};
constexpr MetricInfo kMlpMedian{"mlp_out_norm_median", Scope::kLayer, 1, Aggregate::kMean, "",
    "median over the rest of the length of what the MLP adds"};
constexpr MetricInfo kMlpGain{"mlp_gain", Scope::kLayer, 1, Aggregate::kMean, "",
    "length of what the MLP adds to position 0 / mlp_out_norm_median"};
constexpr MetricInfo kTurnFirst{"turn_p0", Scope::kLayer, 1, Aggregate::kMean, "",
    "||y^ - x^|| of position 0: unit vectors of the residual after and before the block"};
constexpr MetricInfo kTurnMedian{"turn_median", Scope::kLayer, 1, Aggregate::kMean, "",
    "median over the rest of ||y^ - x^||"};
constexpr MetricInfo kTurnMore{"turn_more_share", Scope::kLayer, 1, Aggregate::kMean, "share",
    "share of the rest that turns more than position 0"};
constexpr MetricInfo kTurnErrorFirst{"turn_error_p0", Scope::kLayer, 1, Aggregate::kMean, "share",
    "||(y^ - x^) - d_perp / ||x|| || / turn_p0, d = y - x: what the first-order rule misses at position 0"};
constexpr MetricInfo kTurnErrorMedian{"turn_error_median", Scope::kLayer, 1, Aggregate::kMean, "share",
    "median over the rest of the same share"};
constexpr MetricInfo kChannel{"p0_channel", Scope::kLayer, 1, Aggregate::kMode, "",
    "channel of position 0 with the largest |x| before or after the block"};
constexpr MetricInfo kBefore{"p0_channel_before", Scope::kLayer, 1, Aggregate::kMean, "",
    "x of position 0 in p0_channel before the block"};
constexpr MetricInfo kAttention{"p0_channel_attn", Scope::kLayer, 1, Aggregate::kMean, "",
    "what attention adds there"};
constexpr MetricInfo kMlp{"p0_channel_mlp", Scope::kLayer, 1, Aggregate::kMean, "",
    "what the MLP adds there"};
constexpr MetricInfo kAfter{"p0_channel_after", Scope::kLayer, 1, Aggregate::kMean, "",
    "x of position 0 in p0_channel after the block"};
constexpr MetricInfo kHeadWrite{"p0_channel_head", Scope::kHead, 1, Aggregate::kMean, "",
    "what the head adds to p0_channel of position 0"};
constexpr MetricInfo kAttentionShare{"p0_write_attn", Scope::kLayer, 1, Aggregate::kMean, "share",
    "signed share of attention in all growth of the run's largest channel of position 0; negative: takes away"};
constexpr MetricInfo kMlpShare{"p0_write_mlp", Scope::kLayer, 1, Aggregate::kMean, "share",
    "the same share of the MLP"};
constexpr MetricInfo kHeadShare{"p0_write_head", Scope::kHead, 1, Aggregate::kMean, "share",
    "the same share of the head"};
constexpr MetricInfo kSeparation{"p0_separation", Scope::kLayer, 1, Aggregate::kMean, "",
    "block 0: ||h_0|| / median over the rest of ||h_t||, h = embedding plus attention"};
constexpr MetricInfo kHeadSeparation{"p0_separation_head", Scope::kHead, 1, Aggregate::kMean, "",
    "block 0: p0_separation minus the same ratio of h without what the head adds"};
constexpr MetricInfo kConeCosine{"cone_cosine", Scope::kHead, 1, Aggregate::kMean, "",
    "mean cosine over pairs of the head's values, where entropy_norm >= 0.9"};
constexpr MetricInfo kConeIntercept{"cone_intercept", Scope::kHead, 1, Aggregate::kMean, "",
    "intercept of the regression over t of ||sum_j p_tj v_j / ||v_j|| ||^2 on sum_j p_tj^2, where entropy_norm >= 0.9"};
constexpr MetricInfo kConeSlope{"cone_slope", Scope::kHead, 1, Aggregate::kMean, "",
    "slope of the same regression; 1 - cone_cosine where attention is exactly uniform"};
constexpr MetricInfo kConeR2{"cone_r2", Scope::kHead, 1, Aggregate::kMean, "share",
    "share of the variance that the regression explains"};
// clang-format on

constexpr MetricInfo kMetrics[] = {
    kApplies,        kAttnMedian,      kAttnRatio,      kAttnAuc,   kMidFirst,   kMidMedian,
    kMidRatio,       kMlpMedian,       kMlpGain,        kTurnFirst, kTurnMedian, kTurnMore,
    kTurnErrorFirst, kTurnErrorMedian, kChannel,        kBefore,    kAttention,  kMlp,
    kAfter,          kHeadWrite,       kAttentionShare, kMlpShare,  kHeadShare,  kSeparation,
    kHeadSeparation, kConeCosine,      kConeIntercept,  kConeSlope, kConeR2};

constexpr Part kNeeds[] = {Part::kCircuit};

/// Position 0 and the rest of one number per token.
struct Split {
  double first = kNoData;
  std::vector<double> rest;  ///< of tokens that start no document, where there is a number

  double middle() const { return median(rest); }
  /// First over median; no finite ratio exists where the rest lies at zero.
  double ratio() const {
    const double middle = this->middle();
    return middle > 0 ? first / middle : kNoData;
  }
  /// Share of the rest below (`sign` 1) or above (-1) the first, ties half.
  double share_beyond(double sign) const {
    if (rest.empty() || std::isnan(first)) return kNoData;
    double count = 0;
    for (const double value : rest) {
      count += value == first ? 0.5 : sign * (first - value) > 0 ? 1 : 0;
    }
    return count / static_cast<double>(rest.size());
  }
};

Split split(const CircuitValues& circuit, const std::vector<double>& values) {
  Split result;
  for (size_t t = 0; t < values.size(); ++t) {
    if (t == 0) result.first = values[t];
    if (!circuit.starts[t] && !std::isnan(values[t])) result.rest.push_back(values[t]);
  }
  return result;
}

class Writer {
 public:
  Writer(int layer, Record& record) : layer_(layer), record_(record) {}
  void operator()(const MetricInfo& metric, double value, size_t entry = 0) const {
    record_.values(metric, layer_)[entry] = value;
  }

 private:
  int layer_;
  Record& record_;
};

void write_norms(const CircuitValues& circuit, const Writer& write) {
  const auto at = [&](Site site) {
    return split(circuit, circuit.norm[static_cast<size_t>(site)]);
  };
  const Split attention = at(Site::kAttnOut), mid = at(Site::kResidMid), mlp = at(Site::kMlpOut);
  write(kAttnMedian, attention.middle());
  write(kAttnRatio, attention.ratio());
  write(kAttnAuc, attention.share_beyond(1));
  write(kMidFirst, mid.first);
  write(kMidMedian, mid.middle());
  write(kMidRatio, mid.ratio());
  write(kMlpMedian, mlp.middle());
  write(kMlpGain, mlp.ratio());
}

void write_turns(const CircuitValues& circuit, const Writer& write) {
  const Split turn = split(circuit, circuit.turn);
  write(kTurnFirst, turn.first);
  write(kTurnMedian, turn.middle());
  write(kTurnMore, turn.share_beyond(-1));
  std::vector<double> missed;
  for (size_t t = 0; t < circuit.turn.size(); ++t) {
    missed.push_back(circuit.turn[t] > 0 ? circuit.turn_error[t] / circuit.turn[t] : kNoData);
  }
  const Split error = split(circuit, missed);
  write(kTurnErrorFirst, error.first);
  write(kTurnErrorMedian, error.middle());
}

void write_channel(const stats::ChannelWrite& channel, const Writer& write) {
  if (channel.channel < 0) return;
  write(kChannel, static_cast<double>(channel.channel));
  write(kBefore, channel.before);
  write(kAttention, channel.attention);
  write(kMlp, channel.mlp);
  write(kAfter, channel.after);
}

void write_head(const CircuitValues& circuit, double separation, size_t h, const Writer& write) {
  if (h < circuit.channel.heads.size()) write(kHeadWrite, circuit.channel.heads[h], h);
  if (h < circuit.joined_without.size()) {
    write(kHeadSeparation, separation - split(circuit, circuit.joined_without[h]).ratio(), h);
  }
  if (h >= circuit.cone.size()) return;
  write(kConeCosine, circuit.cone[h].cosine, h);
  write(kConeIntercept, circuit.cone[h].intercept, h);
  write(kConeSlope, circuit.cone[h].slope, h);
  write(kConeR2, circuit.cone[h].r2, h);
}

void measure(const LayerInput& input, const Thresholds&, Record& record) {
  create_metrics(kMetrics, input.layer, record);
  if (!input.circuit) return;
  const CircuitValues& circuit = *input.circuit;
  const Writer write(input.layer, record);
  write(kApplies, circuit.causal);
  if (!circuit.causal) return;
  write_norms(circuit, write);
  write_turns(circuit, write);
  write_channel(circuit.channel, write);
  const double separation = split(circuit, circuit.joined).ratio();
  write(kSeparation, separation);
  for_each_head(input, record, [&](size_t h, const stats::HeadValues& head) {
    if (head.attention) write_head(circuit, separation, h, write);
  });
}

double layer_value(const Record& record, const MetricInfo& metric, int layer) {
  return head_value(record, metric.name, layer, 0);
}

/// The layer after which position 0 holds its largest entry; -1 without data.
int peak_layer(const Record& record) {
  int peak = -1;
  double largest = -1;
  for (int layer = 0; layer < record.layers(); ++layer) {
    const double size = std::abs(layer_value(record, kAfter, layer));
    if (size > largest) largest = size, peak = layer;
  }
  return peak;
}

/// Shares over the layers whose largest channel is that of the peak.
void share_writes(const SequenceInput&, const Thresholds&, Record& record) {
  const int peak = peak_layer(record);
  if (peak < 0) return;
  const double channel = layer_value(record, kChannel, peak);
  const double sign = layer_value(record, kAfter, peak) < 0 ? -1 : 1;
  double growth = 0;
  for (int layer = 0; layer < record.layers(); ++layer) {
    if (layer_value(record, kChannel, layer) != channel) continue;
    growth += std::max(0.0, sign * layer_value(record, kAttention, layer));
    growth += std::max(0.0, sign * layer_value(record, kMlp, layer));
  }
  if (!(growth > 0)) return;
  for (int layer = 0; layer < record.layers(); ++layer) {
    if (layer_value(record, kChannel, layer) != channel) continue;
    const Writer write(layer, record);
    write(kAttentionShare, sign * layer_value(record, kAttention, layer) / growth);
    write(kMlpShare, sign * layer_value(record, kMlp, layer) / growth);
    for (size_t h = 0; h < static_cast<size_t>(record.heads()); ++h) {
      write(kHeadShare, sign * head_value(record, kHeadWrite.name, layer, h) / growth, h);
    }
  }
}

}  // namespace

Diagnostic circuit_diagnostic() {
  return {"circuit", false, kMetrics, kNeeds, measure, share_writes};
}

}  // namespace sinkscope::diagnostics
