#include "sinkscope/diagnostics/sink.h"

#include <algorithm>
#include <cmath>

#include "sinkscope/diagnostics/heads.h"
#include "sinkscope/diagnostics/summary.h"
#include "sinkscope/diagnostics/table.h"

namespace sinkscope::diagnostics {

namespace {

// Float rows sum to 1 within this; a mean missing mass below it is rounding, not a sink logit.
constexpr double kRowRounding = 1e-6;
constexpr int kFirstKeys = 4;  // positions whose published rates are kept, and sink keys listed

// clang-format off
constexpr MetricInfo kAlpha{"alpha", Scope::kHead, kFirstKeys, Aggregate::kMean, "share",
    "alpha_k for k = 0..3: mean attention A_ik over the queries i that see key k"};
constexpr MetricInfo kPlainRate{"plain_rate", Scope::kHead, kFirstKeys, Aggregate::kMean, "share",
    "1 when alpha_k > epsilon, k = 0..3, without eligibility or lift; its mean is the published Sink_k"};
constexpr MetricInfo kTooShort{"too_short", Scope::kHead, 1, Aggregate::kMean, "share",
    "1 when no key is seen by enough queries to be judged"};
constexpr MetricInfo kSinkIndex{"sink_index", Scope::kHead, 1, Aggregate::kMode, "",
    "position s of the judged key with the largest alpha; -1: the learned sink logit"};
constexpr MetricInfo kAlphaSink{"alpha_sink", Scope::kHead, 1, Aggregate::kMean, "share",
    "alpha_s, the strength of the dominant key"};
constexpr MetricInfo kLift{"lift", Scope::kHead, 1, Aggregate::kMean, "",
    "alpha_s divided by the alpha_s of a uniform head"};
constexpr MetricInfo kSink{"sink", Scope::kHead, 1, Aggregate::kMean, "share",
    "1 when alpha_s > epsilon and lift >= min_lift"};
constexpr MetricInfo kSinkCount{"sink_count", Scope::kHead, 1, Aggregate::kMean, "",
    "number of judged keys that pass the sink rule"};
constexpr MetricInfo kSinkKeys{"sink_keys", Scope::kHead, kFirstKeys, Aggregate::kMode, "",
    "positions of up to four keys that pass the sink rule, largest alpha first"};
constexpr MetricInfo kRouted{"routed", Scope::kHead, 1, Aggregate::kMean, "share",
    "share of the queries that see s and give it at least event_mass"};
constexpr MetricInfo kEvent{"event", Scope::kHead, 1, Aggregate::kMean, "share",
    "1 when routed >= event_query_share"};
constexpr MetricInfo kConditional{"conditional", Scope::kHead, 1, Aggregate::kMean, "share",
    "1 when 0.1 <= routed < event_query_share: some queries use the sink, others do not"};
constexpr MetricInfo kEntropy{"entropy", Scope::kHead, 1, Aggregate::kMean, "nats",
    "mean over valid queries of -sum_j A_ij log A_ij"};
constexpr MetricInfo kEntropyNorm{"entropy_norm", Scope::kHead, 1, Aggregate::kMean, "share",
    "mean of entropy / log|V(i)| over the queries that see more than one key"};
constexpr MetricInfo kEffectiveKeys{"effective_keys", Scope::kHead, 1, Aggregate::kMean, "keys",
    "exp(entropy): geometric mean over queries of the number of keys in effective use"};
constexpr MetricInfo kSelfMass{"self_mass", Scope::kHead, 1, Aggregate::kMean, "share",
    "mean over valid queries of A_ii"};
constexpr MetricInfo kSquareMass{"square_mass", Scope::kHead, 1, Aggregate::kMean, "",
    "mean over valid queries of sum_j A_ij^2"};
constexpr MetricInfo kSinkLogitMass{"sink_logit_mass", Scope::kHead, 1, Aggregate::kMean, "share",
    "mean over valid queries of 1 - sum_j A_ij, the mass of the learned sink logit; 0 without one"};
// clang-format on

constexpr MetricInfo kMetrics[] = {
    kAlpha,   kPlainRate,   kTooShort,      kSinkIndex, kAlphaSink,  kLift,
    kSink,    kSinkCount,   kSinkKeys,      kRouted,    kEvent,      kConditional,
    kEntropy, kEntropyNorm, kEffectiveKeys, kSelfMass,  kSquareMass, kSinkLogitMass};

struct Candidate {
  int64_t key;
  double alpha, uniform, routed;
};

/// A key that some query can see; `queries` > 0.
Candidate real_key(const stats::AttentionValues& attention, size_t k) {
  const double queries = static_cast<double>(attention.key_queries[k]);
  return {static_cast<int64_t>(k), attention.key_mass[k] / queries,
          attention.key_uniform[k] / queries,
          static_cast<double>(attention.key_events[k]) / queries};
}

/// `uniform`: the largest share a uniform head gives to one of the real keys. It bounds what such a
/// head would give to one key more, which the row sums alone do not tell.
Candidate sink_logit(const stats::AttentionValues& attention, double uniform) {
  const double queries = static_cast<double>(attention.queries);
  return {kSinkLogitKey, attention.sink_logit_sum / queries, uniform,
          static_cast<double>(attention.sink_logit_events) / queries};
}

std::vector<Candidate> judged_keys(const stats::AttentionValues& attention, int64_t min_queries) {
  std::vector<Candidate> judged;
  double uniform_judged = 0, uniform_any = 0;
  for (size_t k = 0; k < attention.key_mass.size(); ++k) {
    if (attention.key_queries[k] <= 0) continue;
    const Candidate key = real_key(attention, k);
    uniform_any = std::max(uniform_any, key.uniform);
    if (attention.key_queries[k] < min_queries) continue;
    uniform_judged = std::max(uniform_judged, key.uniform);
    judged.push_back(key);
  }
  const bool has_sink_logit =
      attention.sink_logit_sum > kRowRounding * static_cast<double>(attention.queries);
  if (has_sink_logit && attention.queries >= min_queries) {
    judged.push_back(sink_logit(attention, judged.empty() ? uniform_any : uniform_judged));
  }
  return judged;
}

void write_verdict(const SinkVerdict& verdict, int layer, size_t head, Record& record) {
  const auto write = [&](const MetricInfo& metric, double value) {
    record.values(metric, layer)[head] = value;
  };
  write(kTooShort, verdict.too_short);
  if (verdict.too_short) return;
  write(kSinkIndex, static_cast<double>(verdict.key));
  write(kAlphaSink, verdict.alpha);
  write(kLift, verdict.lift);
  write(kSink, verdict.sink);
  write(kSinkCount, static_cast<double>(verdict.sink_keys.size()));
  write(kRouted, verdict.routed);
  write(kEvent, verdict.event);
  write(kConditional, verdict.conditional);
  const auto listed = std::min<size_t>(kFirstKeys, verdict.sink_keys.size());
  for (size_t i = 0; i < listed; ++i) {
    record.values(kSinkKeys, layer)[head * kFirstKeys + i] =
        static_cast<double>(verdict.sink_keys[i]);
  }
}

void write_first_keys(const stats::AttentionValues& attention, double epsilon, int layer,
                      size_t head, Record& record) {
  for (size_t k = 0; k < kFirstKeys && k < attention.key_mass.size(); ++k) {
    if (attention.key_queries[k] <= 0) continue;
    const double alpha = real_key(attention, k).alpha;
    record.values(kAlpha, layer)[head * kFirstKeys + k] = alpha;
    record.values(kPlainRate, layer)[head * kFirstKeys + k] = alpha > epsilon;
  }
}

void write_row_means(const stats::AttentionValues& attention, int layer, size_t head,
                     Record& record) {
  const auto write = [&](const MetricInfo& metric, double sum, int64_t count) {
    if (count > 0) record.values(metric, layer)[head] = sum / static_cast<double>(count);
  };
  write(kEntropy, attention.entropy_sum, attention.queries);
  write(kEntropyNorm, attention.entropy_norm_sum, attention.queries_many);
  write(kSelfMass, attention.self_sum, attention.queries);
  write(kSquareMass, attention.square_sum, attention.queries);
  write(kSinkLogitMass, attention.sink_logit_sum, attention.queries);
  record.values(kEffectiveKeys, layer)[head] = std::exp(record.values(kEntropy, layer)[head]);
}

void measure(const LayerInput& input, const Thresholds& thresholds, Record& record) {
  create_metrics(kMetrics, input.layer, record);
  for_each_head(input, record, [&](size_t h, const stats::HeadValues& head) {
    if (!head.attention) return;
    write_first_keys(*head.attention, thresholds.epsilon, input.layer, h, record);
    write_row_means(*head.attention, input.layer, h, record);
    write_verdict(judge_sink(*head.attention, thresholds), input.layer, h, record);
  });
}

}  // namespace

SinkVerdict judge_sink(const stats::AttentionValues& attention, const Thresholds& thresholds) {
  const auto tokens = static_cast<int64_t>(attention.key_mass.size());
  std::vector<Candidate> keys = judged_keys(attention, effective_min_queries(tokens, thresholds));
  SinkVerdict verdict;
  if (keys.empty()) return verdict;
  std::stable_sort(keys.begin(), keys.end(),
                   [](const Candidate& a, const Candidate& b) { return a.alpha > b.alpha; });

  const auto passes = [&](const Candidate& key) {
    return key.alpha > thresholds.epsilon && key.alpha / key.uniform >= thresholds.min_lift;
  };
  const Candidate& best = keys.front();
  verdict.too_short = false;
  verdict.key = best.key;
  verdict.alpha = best.alpha;
  verdict.lift = best.alpha / best.uniform;
  verdict.routed = best.routed;
  verdict.sink = passes(best);
  verdict.event = best.routed >= thresholds.event_query_share;
  verdict.conditional = !verdict.event && best.routed >= kConditionalShare;
  for (const Candidate& key : keys) {
    if (passes(key)) verdict.sink_keys.push_back(key.key);
  }
  return verdict;
}

Diagnostic sink_diagnostic() { return {"sink", true, kMetrics, {}, measure, nullptr}; }

}  // namespace sinkscope::diagnostics
