#include <algorithm>

#include "sinkscope/diagnostics/heads.h"
#include "sinkscope/diagnostics/table.h"

namespace sinkscope::diagnostics {

namespace {

// clang-format off
constexpr MetricInfo kMax{"cos_p0_max", Scope::kLayer, 1, Aggregate::kMean, "",
    "largest cosine of z_0 with z_t, t >= 1; z is the input of q, k and v, norm gain included"};
constexpr MetricInfo kMean{"cos_p0_mean", Scope::kLayer, 1, Aggregate::kMean, "",
    "mean cosine of z_0 with z_t over t >= 1"};
constexpr MetricInfo kNonPositive{"cos_p0_share_nonpositive", Scope::kLayer, 1, Aggregate::kMean, "share",
    "share of t >= 1 whose cosine with z_0 is at most 0"};
constexpr MetricInfo kPairMean{"cos_pair_mean", Scope::kLayer, 1, Aggregate::kMean, "",
    "mean cosine of z_i with z_j over all pairs i < j"};
constexpr MetricInfo kPairMeanRest{"cos_pair_mean_rest", Scope::kLayer, 1, Aggregate::kMean, "",
    "mean cosine over all pairs 1 <= i < j"};
// clang-format on

constexpr MetricInfo kMetrics[] = {kMax, kMean, kNonPositive, kPairMean, kPairMeanRest};

constexpr Part kNeeds[] = {Part::kSimilarity};

void measure(const LayerInput& input, const Thresholds&, Record& record) {
  create_metrics(kMetrics, input.layer, record);
  if (!input.normed_in) return;
  const int layer = input.layer;
  record.values(kPairMean, layer)[0] = input.normed_in->pair_mean;
  record.values(kPairMeanRest, layer)[0] = input.normed_in->pair_mean_rest;
  if (input.normed_in->cos_first.size() < 2) return;

  const std::span rest = std::span(input.normed_in->cos_first).subspan(1);
  const double count = static_cast<double>(rest.size());
  double sum = 0, not_positive = 0;
  for (const double cosine : rest) {
    sum += cosine;
    not_positive += cosine <= 0;
  }
  record.values(kMax, layer)[0] = *std::max_element(rest.begin(), rest.end());
  record.values(kMean, layer)[0] = sum / count;
  record.values(kNonPositive, layer)[0] = not_positive / count;
}

}  // namespace

Diagnostic similarity_diagnostic() {
  return {"similarity", true, kMetrics, kNeeds, measure, nullptr};
}

}  // namespace sinkscope::diagnostics
