#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sinkscope/diagnostics/token_type.h"
#include "sinkscope/stats/values.h"

namespace sinkscope::diagnostics {

inline constexpr double kNoData = std::numeric_limits<double>::quiet_NaN();

/// Every threshold of a verdict, with its default; printed and stored with every result.
/// Source of each: method.md sections 1, 4, 5.
struct Thresholds {
  double epsilon = 0.3;            ///< a key with alpha above this is a sink (strict)
  int64_t min_queries = 16;        ///< a key seen by fewer is not judged; see effective_min_queries
  double min_lift = 2.0;           ///< share over that of a uniform head
  double event_query_share = 0.9;  ///< share of queries with mass >= event_mass
  double event_mass = 0.5;         ///< tau
  double nop_ratio = 0.2;          ///< ratio_out at or below: nop
  double broadcast_ratio = 0.5;    ///< ratio_out at or above, and
  double broadcast_stable_rank = 1.5;  ///< stable rank at or below: broadcast
  double massive_abs = 100;            ///< |x| above, and
  double massive_ratio = 1000;         ///< above this multiple of the median |x|: massive
};

/// What a metric has one value of.
enum class Scope { kHead, kLayer, kSequence };

/// How values of single sequences become one value of the run (NaN entries are left out).
enum class Aggregate { kMean, kMode, kSum, kMax };

/// A quantity with a name. `width` values per head (kHead: H x width, head-major), per layer or
/// per sequence.
struct MetricInfo {
  std::string_view name;
  Scope scope = Scope::kHead;
  int width = 1;
  Aggregate aggregate = Aggregate::kMean;
  std::string_view unit;        ///< "", "nats", "share", ...
  std::string_view definition;  ///< one sentence with its formula
};

/// Codes stored for the metric "class".
enum class HeadClass { kNone = 0, kNop = 1, kBroadcast = 2, kOther = 3, kTooShort = 4 };
std::string_view class_name(HeadClass c);  ///< "none", "nop", "broadcast", "other", "too_short"

/// The values of one sequence: metric name -> layer -> values. Layer index 0 is used for
/// sequence-scope metrics. Unset values are NaN.
class Record {
 public:
  Record(int layers, int heads) : layers_(layers), heads_(heads) {}
  int layers() const { return layers_; }
  int heads() const { return heads_; }

  /// The values of `metric` at `layer`, created as NaN when new.
  std::span<double> values(const MetricInfo& metric, int layer);
  /// Empty when the metric was never written.
  std::span<const double> find(std::string_view metric, int layer) const;
  const std::map<std::string, std::vector<std::vector<double>>, std::less<>>& all() const {
    return values_;
  }

 private:
  int layers_, heads_;
  std::map<std::string, std::vector<std::vector<double>>, std::less<>> values_;
};

/// What a diagnostic reads besides the attention of the heads. Only parts that a chosen diagnostic
/// needs are measured; each is one file of app/measurements.
enum class Part {
  kValues,      ///< HeadValues::norms, update
  kResidual,    ///< residual_in, residual_out
  kSimilarity,  ///< normed_in
  kBranches,    ///< attn_out_norm_first, mlp_out_norm_first
  kLoss,        ///< SequenceInput::loss_sum, loss_tokens
  kAdvice,      ///< SequenceInput::advice; measured by further passes, not by a measurement
  kSpectrum,    ///< HeadValues::qk_spectrum, qk_spectrum_plain; LayerInput::qk_ratio_random
  kGeometry,    ///< LayerInput::geometry, HeadValues::geometry
  kSmoothing,   ///< HeadValues::smoothing
  kRouting,     ///< HeadValues::routing
  kSelection,   ///< HeadValues::selection
  kWeightSize,  ///< HeadValues::weight_size
  kCircuit,     ///< LayerInput::circuit
  kRange,       ///< LayerInput::range
  kTypes,       ///< LayerInput::types
};

/// Everything measured at one layer of one sequence; parts that were not measured are null.
struct LayerInput {
  int layer = 0;
  int64_t tokens = 0;
  std::vector<stats::HeadValues> heads;                 ///< [H]; attention null: left out
  const stats::ResidualValues* residual_in = nullptr;   ///< before the block (layer 0: embedding)
  const stats::ResidualValues* residual_out = nullptr;  ///< after the block, before the final norm
  const stats::SimilarityValues* normed_in = nullptr;   ///< z, what q, k and v read
  const stats::GeometryValues* geometry = nullptr;      ///< of z
  const stats::CircuitValues* circuit = nullptr;        ///< position 0 at every tap of the block
  const stats::RangeValues* range = nullptr;            ///< what 16 and 8 bits lose
  std::span<const TokenType> types;                     ///< [T]; empty: not known
  double qk_ratio_random = kNoData;      ///< sigma_1 / sigma_2 of a random map of that shape
  double attn_out_norm_first = kNoData;  ///< length of what attention adds to position 0
  double mlp_out_norm_first = kNoData;   ///< length of what the MLP adds to position 0
};

struct SequenceInput {
  int64_t tokens = 0;
  double loss_sum = kNoData;  ///< sum of next-token negative log likelihoods, nats
  int64_t loss_tokens = 0;    ///< number of predicted tokens
  const stats::AdviceValues* advice = nullptr;  ///< of the sequences on which edits were tried
};

/// One diagnostic: a file, a row in the table, a page docs/diagnostics/NAME.md, a test with a
/// planted positive and a near miss. A diagnostic may read metrics of rows above its own.
struct Diagnostic {
  std::string_view name;
  bool plain = true;  ///< part of a scan without --diag
  std::span<const MetricInfo> metrics;
  std::span<const Part> needs;
  void (*measure_layer)(const LayerInput&, const Thresholds&, Record&) = nullptr;
  void (*measure_sequence)(const SequenceInput&, const Thresholds&, Record&) = nullptr;
};

/// The one table, in order of evaluation.
std::span<const Diagnostic> all_diagnostics();
/// Throws kUsage listing the known names.
const Diagnostic& find_diagnostic(std::string_view name);
/// nullptr when no diagnostic has it.
const MetricInfo* find_metric(std::string_view name);

}  // namespace sinkscope::diagnostics
