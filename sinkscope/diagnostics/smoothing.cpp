#include <algorithm>
#include <cmath>

#include "sinkscope/diagnostics/heads.h"
#include "sinkscope/diagnostics/table.h"
#include "sinkscope/stats/smoothing_values.h"

namespace sinkscope::diagnostics {

namespace {

using stats::SmoothingValues;
using stats::StepCosines;
using stats::StepCurves;

// A change of the mean cosine up to this is flat (method.md section 9, --smooth-delta).
constexpr double kFlat = 0.01;
constexpr int kSteps = static_cast<int>(stats::kLambdas.size());

// clang-format off
constexpr MetricInfo kCurve{"smooth_cos", Scope::kHead, kSteps, Aggregate::kMean, "",
    "mean cosine of pairs of y_i = r_i + (1 - lambda) u_i + lambda mean_{j in V(i)} u_j at lambda = 0, 0.1, .., 1, "
    "r the residual plus the other heads, without the tokens left out"};
constexpr MetricInfo kPredicted{"smooth_predicted", Scope::kHead, kSteps, Aggregate::kMean, "",
    "smooth_cos as the closed form of the first two moments of r and u predicts it"};
constexpr MetricInfo kCurveAll{"smooth_cos_all", Scope::kHead, kSteps, Aggregate::kMean, "",
    "smooth_cos over the pairs of all tokens"};
constexpr MetricInfo kAlone{"smooth_alone", Scope::kHead, kSteps, Aggregate::kMean, "",
    "smooth_cos without the skip connection and the other heads: r = 0"};
constexpr MetricInfo kAloneAll{"smooth_alone_all", Scope::kHead, kSteps, Aggregate::kMean, "",
    "smooth_alone over the pairs of all tokens"};
constexpr MetricInfo kNormed{"smooth_normed", Scope::kHead, kSteps, Aggregate::kMean, "",
    "smooth_cos behind the norm that reads y: its gain on every channel, for LayerNorm the mean taken off before"};
constexpr MetricInfo kNormedAll{"smooth_normed_all", Scope::kHead, kSteps, Aggregate::kMean, "",
    "smooth_normed over the pairs of all tokens"};
constexpr MetricInfo kActual{"smooth_actual", Scope::kHead, 3, Aggregate::kMean, "",
    "the cosine at the head's own attention: with skip, alone, normed; without the tokens left out"};
constexpr MetricInfo kActualAll{"smooth_actual_all", Scope::kHead, 3, Aggregate::kMean, "",
    "smooth_actual over the pairs of all tokens"};
constexpr MetricInfo kSink{"smooth_sink", Scope::kHead, 3, Aggregate::kMean, "",
    "the cosine when every query reads its head's dominant key alone (itself where it cannot see it): "
    "with skip, alone, normed; without the tokens left out"};
constexpr MetricInfo kSinkAll{"smooth_sink_all", Scope::kHead, 3, Aggregate::kMean, "",
    "smooth_sink over the pairs of all tokens"};
constexpr MetricInfo kMoments{"smooth_moments", Scope::kHead, 4, Aggregate::kMean, "",
    "R, C, E, N0: traces of the token covariances of r, of r with u and of u, and ||mean r + mean u||^2"};
constexpr MetricInfo kScalar{"smooth_s", Scope::kHead, 1, Aggregate::kMean, "",
    "s = 2 C + E: its sign predicts whether uniform attention raises the cosine"};
constexpr MetricInfo kPeak{"smooth_peak", Scope::kHead, 1, Aggregate::kMean, "",
    "lambda of the largest predicted cosine, 1 + C / E held to [0, 1]"};
constexpr MetricInfo kDelta{"smooth_delta", Scope::kHead, 1, Aggregate::kMean, "",
    "smooth_cos at lambda = 1 minus that at lambda = 0"};
constexpr MetricInfo kNormedDelta{"smooth_normed_delta", Scope::kHead, 1, Aggregate::kMean, "",
    "smooth_normed at lambda = 1 minus that at lambda = 0"};
constexpr MetricInfo kClass{"smooth_class", Scope::kHead, 1, Aggregate::kMode, "",
    "1 smoothing (smooth_delta > 0.01), -1 counteracted (smooth_delta < -0.01), 0 flat"};
constexpr MetricInfo kError{"smooth_error", Scope::kHead, 1, Aggregate::kMean, "",
    "largest |smooth_cos - smooth_predicted| over lambda"};
constexpr MetricInfo kNormedError{"smooth_normed_error", Scope::kHead, 1, Aggregate::kMean, "",
    "the same of smooth_normed and the prediction from the moments behind the norm"};
constexpr MetricInfo kSign{"smooth_sign", Scope::kHead, 1, Aggregate::kMean, "share",
    "1 when smooth_s and smooth_delta have the same sign"};
constexpr MetricInfo kUniformity{"uniformity", Scope::kHead, 1, Aggregate::kMean, "",
    "mean over queries of (1 - A_ii) / (1 - 1/|V(i)|): place of the row between identity (0) and uniform (1)"};
constexpr MetricInfo kLeftOut{"smooth_left_out", Scope::kLayer, 1, Aggregate::kMean, "tokens",
    "number of tokens left out: the dominant key that most heads share, and those whose step is at least 5 "
    "times as long as the median one"};
constexpr MetricInfo kSharedKey{"smooth_left_out_key", Scope::kLayer, 1, Aggregate::kMode, "",
    "position of the dominant key that most heads of the layer share, heads with a sink first; -1: none"};
constexpr MetricInfo kShareUp{"smooth_share_up", Scope::kLayer, 1, Aggregate::kMean, "share",
    "share of the heads whose smooth_class is smoothing"};
constexpr MetricInfo kShareDown{"smooth_share_down", Scope::kLayer, 1, Aggregate::kMean, "share",
    "share of the heads whose smooth_class is counteracted"};
constexpr MetricInfo kShareSign{"smooth_share_sign", Scope::kLayer, 1, Aggregate::kMean, "share",
    "share of the heads where smooth_sign is 1"};
constexpr MetricInfo kShareSparse{"smooth_share_sparse", Scope::kLayer, 1, Aggregate::kMean, "share",
    "share of the heads whose smooth_actual is closer to smooth_cos at lambda = 0 or to smooth_sink than "
    "to smooth_cos at lambda = 1"};
// clang-format on

constexpr MetricInfo kMetrics[] = {
    kCurve,   kPredicted,   kCurveAll, kAlone,     kAloneAll,    kNormed,     kNormedAll,
    kActual,  kActualAll,   kSink,     kSinkAll,   kMoments,     kScalar,     kPeak,
    kDelta,   kNormedDelta, kClass,    kError,     kNormedError, kSign,       kUniformity,
    kLeftOut, kSharedKey,   kShareUp,  kShareDown, kShareSign,   kShareSparse};

/// Share of the heads that have an answer for which it is yes.
class Share {
 public:
  void add(bool yes) { yes_ += yes, all_ += 1; }
  double value() const { return all_ > 0 ? yes_ / all_ : kNoData; }

 private:
  double yes_ = 0, all_ = 0;
};

struct LayerShares {
  Share up, down, sign, sparse;
};

double change(const StepCosines& cosines) {
  if (cosines.by_lambda.empty()) return kNoData;
  return cosines.by_lambda.back() - cosines.by_lambda.front();
}

double largest_error(const StepCurves& curves) {
  double largest = kNoData;
  for (size_t i = 0; i < curves.predicted.size(); ++i) {
    const double error = std::abs(curves.rest.by_lambda[i] - curves.predicted[i]);
    if (!(error <= largest)) largest = error;
  }
  return largest;
}

class HeadWriter {
 public:
  HeadWriter(int layer, size_t head, Record& record)
      : layer_(layer), head_(head), record_(record) {}

  void write(const MetricInfo& metric, std::span<const double> values) {
    std::copy(values.begin(), values.end(), head_entries(metric, layer_, head_, record_).begin());
  }
  void write(const MetricInfo& metric, std::initializer_list<double> values) {
    write(metric, std::span(values.begin(), values.size()));
  }

 private:
  int layer_;
  size_t head_;
  Record& record_;
};

void write_curves(const SmoothingValues& value, HeadWriter& head) {
  head.write(kCurve, value.skip.rest.by_lambda);
  head.write(kCurveAll, value.skip.all.by_lambda);
  head.write(kPredicted, value.skip.predicted);
  head.write(kAlone, value.alone.rest.by_lambda);
  head.write(kAloneAll, value.alone.all.by_lambda);
  head.write(kNormed, value.normed.rest.by_lambda);
  head.write(kNormedAll, value.normed.all.by_lambda);
  head.write(kActual, {value.skip.rest.actual, value.alone.rest.actual, value.normed.rest.actual});
  head.write(kActualAll, {value.skip.all.actual, value.alone.all.actual, value.normed.all.actual});
  head.write(kSink, {value.skip.rest.sink, value.alone.rest.sink, value.normed.rest.sink});
  head.write(kSinkAll, {value.skip.all.sink, value.alone.all.sink, value.normed.all.sink});
}

void judge_head(const SmoothingValues& value, HeadWriter& head, LayerShares& shares) {
  const theory::StepMoments& moments = value.skip.moments;
  const double scalar = theory::smoothing_scalar(moments), delta = change(value.skip.rest);
  head.write(kNormedDelta, {change(value.normed.rest)});
  head.write(kNormedError, {largest_error(value.normed)});
  head.write(kUniformity, {value.uniformity});
  if (std::isnan(delta)) return;
  head.write(kMoments, {moments.skip, moments.cross, moments.update, moments.mean_sq});
  head.write(kScalar, {scalar});
  head.write(kPeak, {theory::smoothing_peak(moments)});
  head.write(kDelta, {delta});
  head.write(kError, {largest_error(value.skip)});
  const bool up = delta > kFlat, down = delta < -kFlat;
  head.write(kClass, {static_cast<double>(up - down)});
  shares.up.add(up);
  shares.down.add(down);
  if (scalar != 0 && delta != 0) {
    head.write(kSign, {static_cast<double>((scalar > 0) == (delta > 0))});
    shares.sign.add((scalar > 0) == (delta > 0));
  }
  const StepCosines& cosines = value.skip.rest;
  const auto distance = [&](double cosine) { return std::abs(cosines.actual - cosine); };
  const double to_uniform = distance(cosines.by_lambda.back());
  if (std::isnan(to_uniform)) return;
  shares.sparse.add(distance(cosines.by_lambda.front()) < to_uniform ||
                    distance(cosines.sink) < to_uniform);
}

constexpr Part kNeeds[] = {Part::kSmoothing};

void measure(const LayerInput& input, const Thresholds&, Record& record) {
  create_metrics(kMetrics, input.layer, record);
  LayerShares shares;
  for_each_head(input, record, [&](size_t h, const stats::HeadValues& head) {
    if (!head.smoothing) return;
    HeadWriter writer(input.layer, h, record);
    write_curves(*head.smoothing, writer);
    judge_head(*head.smoothing, writer, shares);
    record.values(kLeftOut, input.layer)[0] = static_cast<double>(head.smoothing->left_out);
    record.values(kSharedKey, input.layer)[0] = static_cast<double>(head.smoothing->shared_key);
  });
  record.values(kShareUp, input.layer)[0] = shares.up.value();
  record.values(kShareDown, input.layer)[0] = shares.down.value();
  record.values(kShareSign, input.layer)[0] = shares.sign.value();
  record.values(kShareSparse, input.layer)[0] = shares.sparse.value();
}

}  // namespace

Diagnostic smoothing_diagnostic() {
  return {"smoothing", false, kMetrics, kNeeds, measure, nullptr};
}

}  // namespace sinkscope::diagnostics
