#include <algorithm>
#include <set>
#include <vector>

#include "sinkscope/diagnostics/heads.h"
#include "sinkscope/diagnostics/table.h"
#include "sinkscope/stats/range_values.h"

namespace sinkscope::diagnostics {

namespace {

// clang-format off
constexpr MetricInfo kLargest[] = {
    {"max_abs_attn_out", Scope::kLayer, 1, Aggregate::kMax, "",
     "largest |x| of what attention adds to the residual"},
    {"max_abs_resid_mid", Scope::kLayer, 1, Aggregate::kMax, "",
     "largest |x| of the residual between attention and MLP"},
    {"max_abs_mlp_out", Scope::kLayer, 1, Aggregate::kMax, "",
     "largest |x| of what the MLP adds to the residual"},
    {"max_abs_resid_post", Scope::kLayer, 1, Aggregate::kMax, "",
     "largest |x| of the residual after the block"}};
static_assert(std::size(kLargest) == stats::kSites);
constexpr MetricInfo kOverflows{"fp16_overflows", Scope::kLayer, 1, Aggregate::kSum, "entries",
    "entries of these four with |x| > 65504, the largest number of binary16"};
constexpr MetricInfo kOverflowChannel{"fp16_overflow_channel", Scope::kLayer, 1, Aggregate::kMode, "",
    "channel of the largest of them, in the first of the four that has any"};
constexpr MetricInfo kBfloatError{"bf16_error", Scope::kLayer, 1, Aggregate::kMean, "share",
    "mean over tokens of ||round(x_t) - x_t|| / ||x_t|| after the block, rounded to bfloat16"};
constexpr MetricInfo kHalfError{"fp16_error", Scope::kLayer, 1, Aggregate::kMean, "share",
    "the same for binary16, entries beyond its range set to its largest number"};
constexpr MetricInfo kSinkTokens{"range_sink_tokens", Scope::kLayer, 1, Aggregate::kMean, "tokens",
    "number of sink tokens: keys that pass the sink rule in any head of the block (up to four per head)"};
constexpr MetricInfo kBits{"int8_bits_lost", Scope::kLayer, 1, Aggregate::kMean, "bits",
    "log2(largest |x| before the block / largest without the sink tokens); 0 where there is none"};
constexpr MetricInfo kBitsNormed{"int8_bits_lost_normed", Scope::kLayer, 1, Aggregate::kMean, "bits",
    "the same of what q, k and v read"};
constexpr MetricInfo kError{"int8_error", Scope::kLayer, 1, Aggregate::kMean, "share",
    "||Q(x) - x|| / ||x|| over the tokens that are no sinks, x before the block, Q int8 with step max |x| / 127"};
constexpr MetricInfo kErrorWithout{"int8_error_without", Scope::kLayer, 1, Aggregate::kMean, "share",
    "the same with the step that these tokens alone need"};
// clang-format on

constexpr MetricInfo kMetrics[] = {
    kLargest[0], kLargest[1], kLargest[2], kLargest[3], kOverflows, kOverflowChannel, kBfloatError,
    kHalfError,  kSinkTokens, kBits,       kBitsNormed, kError,     kErrorWithout};

constexpr Part kNeeds[] = {Part::kRange};

/// The keys of `sink_keys` of every head, ascending; the sink logit is none.
std::vector<int64_t> sink_tokens(const Record& record, int layer) {
  std::set<int64_t> keys;
  for (const double key : record.find("sink_keys", layer)) {
    if (key >= 0) keys.insert(static_cast<int64_t>(key));
  }
  return {keys.begin(), keys.end()};
}

void write_sites(const stats::RangeValues& range, int layer, Record& record) {
  int64_t overflows = 0;
  for (size_t i = 0; i < stats::kSites; ++i) {
    const stats::SiteRange& site = range.sites[i];
    record.values(kLargest[i], layer)[0] = site.largest;
    if (site.beyond_half > 0 && overflows == 0) {
      record.values(kOverflowChannel, layer)[0] = static_cast<double>(site.channel);
    }
    overflows += site.beyond_half;
  }
  record.values(kOverflows, layer)[0] = static_cast<double>(overflows);
}

void measure(const LayerInput& input, const Thresholds&, Record& record) {
  create_metrics(kMetrics, input.layer, record);
  if (!input.range) return;
  const stats::RangeValues& range = *input.range;
  const int layer = input.layer;
  write_sites(range, layer, record);
  record.values(kBfloatError, layer)[0] = range.bfloat16_error;
  record.values(kHalfError, layer)[0] = range.half_error;
  const std::vector<int64_t> sinks = sink_tokens(record, layer);
  const stats::Int8Values int8 = range.int8(sinks);
  record.values(kSinkTokens, layer)[0] = static_cast<double>(sinks.size());
  record.values(kBits, layer)[0] = int8.bits_lost;
  record.values(kBitsNormed, layer)[0] = int8.bits_lost_normed;
  record.values(kError, layer)[0] = int8.error;
  record.values(kErrorWithout, layer)[0] = int8.error_without;
}

}  // namespace

Diagnostic range_diagnostic() { return {"range", false, kMetrics, kNeeds, measure, nullptr}; }

}  // namespace sinkscope::diagnostics
