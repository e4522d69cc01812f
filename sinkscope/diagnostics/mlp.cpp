#include <cmath>

#include "sinkscope/diagnostics/heads.h"
#include "sinkscope/diagnostics/table.h"
#include "sinkscope/stats/routing_values.h"

namespace sinkscope::diagnostics {

namespace {

// method.md section 11.
constexpr double kOffSize = 0.1;       // E_out up to this: off
constexpr double kMlpComm = 0.1;       // R_comm up to this: mlp_like (--mlp-comm)
constexpr double kPatternShare = 0.9;  // mean weight from which a pattern is diagonal or sink

// clang-format off
constexpr MetricInfo kSelf{"mlp_self", Scope::kHead, 1, Aggregate::kMean, "share",
    "mu_self: mean of A_ii over the queries i != s that see more than one key"};
constexpr MetricInfo kSink{"mlp_sink", Scope::kHead, 1, Aggregate::kMean, "share",
    "mu_sink: mean of A_is over the same queries, s the dominant key"};
constexpr MetricInfo kPattern{"mlp_pattern", Scope::kHead, 1, Aggregate::kMode, "",
    "1 diagonal (mu_self >= 0.9), 2 sink (mu_sink >= 0.9), 3 mixed"};
constexpr MetricInfo kOut{"mlp_out", Scope::kHead, 1, Aggregate::kMean, "",
    "E_out = sqrt(sum_i ||o_i||^2 / sum_i ||u_i||^2): size of the update beside that of the own values"};
constexpr MetricInfo kComm{"mlp_comm", Scope::kHead, 1, Aggregate::kMean, "",
    "R_comm = sqrt(sum_i ||c_i||^2 / sum_i ||o_i||^2), c_i = o_i - A_ii u_i, less A_is u_s where the event rule holds"};
constexpr MetricInfo kCommPayload{"mlp_comm_payload", Scope::kHead, 1, Aggregate::kMean, "",
    "R_comm with the sink's payload counted as communication in every head: c_i = o_i - A_ii u_i"};
constexpr MetricInfo kVerdict{"mlp_verdict", Scope::kHead, 1, Aggregate::kMode, "",
    "1 off (E_out <= 0.1), 2 mlp_like (R_comm <= 0.1), 3 communicating"};
constexpr MetricInfo kHeadNorm{"head_norm", Scope::kHead, 1, Aggregate::kMean, "",
    "mean_i ||o_i|| divided by the mean over the layer's heads of the same"};
constexpr MetricInfo kShareOff{"mlp_share_off", Scope::kLayer, 1, Aggregate::kMean, "share",
    "share of the heads that are off"};
constexpr MetricInfo kShareMlp{"mlp_share_mlp_like", Scope::kLayer, 1, Aggregate::kMean, "share",
    "share of the heads that are mlp_like"};
constexpr MetricInfo kShareComm{"mlp_share_communicating", Scope::kLayer, 1, Aggregate::kMean, "share",
    "share of the heads that communicate"};
constexpr MetricInfo kShareDiagonal{"mlp_share_diagonal", Scope::kLayer, 1, Aggregate::kMean, "share",
    "share of the heads with a diagonal pattern"};
constexpr MetricInfo kShareSink{"mlp_share_sink", Scope::kLayer, 1, Aggregate::kMean, "share",
    "share of the heads with a sink pattern"};
constexpr MetricInfo kShareMixed{"mlp_share_mixed", Scope::kLayer, 1, Aggregate::kMean, "share",
    "share of the heads with a mixed pattern"};
// clang-format on

constexpr MetricInfo kMetrics[] = {kSelf,        kSink,          kPattern,   kOut,       kComm,
                                   kCommPayload, kVerdict,       kHeadNorm,  kShareOff,  kShareMlp,
                                   kShareComm,   kShareDiagonal, kShareSink, kShareMixed};

enum PatternCode { kDiagonalPattern = 1, kSinkPattern = 2, kMixedPattern = 3 };
enum VerdictCode { kOff = 1, kMlpLike = 2, kCommunicating = 3 };

/// How many heads have each code, as shares.
struct Tally {
  double counts[4] = {};
  double heads = 0;
  void add(int code) { counts[code] += 1, heads += 1; }
  double share(int code) const { return heads > 0 ? counts[code] / heads : kNoData; }
};

struct Judged {
  double self, sink, out, comm, comm_payload;
  PatternCode pattern;
  VerdictCode verdict;
};

double root_ratio(double part, double whole) {
  return whole > 0 ? std::sqrt(part / whole) : kNoData;
}

Judged judge(const stats::MixingSums& sums, bool event) {
  Judged judged;
  const double queries = static_cast<double>(sums.queries);
  judged.self = sums.to_self / queries;
  judged.sink = sums.to_sink / queries;
  judged.out = root_ratio(sums.out_sq, sums.self_sq);
  judged.comm_payload = root_ratio(sums.rest_payload_sq, sums.out_sq);
  judged.comm = event ? root_ratio(sums.rest_sq, sums.out_sq) : judged.comm_payload;
  judged.pattern = judged.self >= kPatternShare   ? kDiagonalPattern
                   : judged.sink >= kPatternShare ? kSinkPattern
                                                  : kMixedPattern;
  // An update of zero is off, also where every value is zero and its size has no measure.
  const bool off = sums.out_sq == 0 || judged.out <= kOffSize;
  judged.verdict = off ? kOff : judged.comm <= kMlpComm ? kMlpLike : kCommunicating;
  return judged;
}

/// Mean over the heads of mean_i ||o_i||.
double layer_norm_mean(const LayerInput& input) {
  double sum = 0, heads = 0;
  for (const stats::HeadValues& head : input.heads) {
    if (!head.routing || head.routing->mixing.queries == 0) continue;
    sum += head.routing->mixing.out / static_cast<double>(head.routing->mixing.queries);
    heads += 1;
  }
  return sum / heads;
}

constexpr Part kNeeds[] = {Part::kValues, Part::kRouting};

void measure(const LayerInput& input, const Thresholds&, Record& record) {
  create_metrics(kMetrics, input.layer, record);
  const double layer_mean = layer_norm_mean(input);
  Tally patterns, verdicts;
  for_each_head(input, record, [&](size_t h, const stats::HeadValues& head) {
    if (!head.routing || head.routing->mixing.queries == 0) return;
    const stats::MixingSums& sums = head.routing->mixing;
    const Judged judged = judge(sums, head_value(record, "event", input.layer, h) == 1);
    const auto write = [&](const MetricInfo& metric, double value) {
      record.values(metric, input.layer)[h] = value;
    };
    write(kSelf, judged.self);
    write(kSink, judged.sink);
    write(kPattern, judged.pattern);
    write(kOut, judged.out);
    write(kComm, judged.comm);
    write(kCommPayload, judged.comm_payload);
    write(kVerdict, judged.verdict);
    if (layer_mean > 0) {
      write(kHeadNorm, sums.out / static_cast<double>(sums.queries) / layer_mean);
    }
    patterns.add(judged.pattern);
    verdicts.add(judged.verdict);
  });
  const auto write = [&](const MetricInfo& metric, double value) {
    record.values(metric, input.layer)[0] = value;
  };
  write(kShareOff, verdicts.share(kOff));
  write(kShareMlp, verdicts.share(kMlpLike));
  write(kShareComm, verdicts.share(kCommunicating));
  write(kShareDiagonal, patterns.share(kDiagonalPattern));
  write(kShareSink, patterns.share(kSinkPattern));
  write(kShareMixed, patterns.share(kMixedPattern));
}

}  // namespace

Diagnostic mlp_diagnostic() { return {"mlp", false, kMetrics, kNeeds, measure, nullptr}; }

}  // namespace sinkscope::diagnostics
