#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "sinkscope/app/measurements/measurement.h"
#include "sinkscope/stats/advice_values.h"
#include "sinkscope/stats/head_attention.h"

namespace sinkscope::app {

struct MeasureOptions {
  std::vector<const diagnostics::Diagnostic*> diagnostics;
  diagnostics::Thresholds thresholds;
  std::set<int> layers;                                ///< layers to measure
  std::optional<std::set<std::pair<int, int>>> heads;  ///< (layer, head); none: all
  uint64_t seed = 0;
  TypesOf types;  ///< of the positions of a sequence; empty: not known
};

/// Joins forward, stats and diagnostics: listens to a pass over a batch of streams and leaves one
/// Record per stream. Each layer is judged as soon as it is done, while its values still lie in
/// memory, so nothing of a layer outlives it but its metrics.
class Measure : public forward::Observer {
 public:
  Measure(const model::ModelSpec& spec, const MeasureOptions& options,
          std::span<const store::SequenceInfo* const> sequences);

  bool wants(forward::Tap tap, int layer) const override;
  bool wants_sums(int layer) const override;
  void on_activation(const forward::Activation& activation) override;
  void on_layer(const forward::LayerState& state) override;

  /// After the pass, and before finish(): what edits of a stream did.
  void set_advice(size_t stream, const stats::AdviceValues& advice);
  /// Sequence metrics, then the results.
  void finish();
  std::span<const diagnostics::Record> records() const { return records_; }
  const diagnostics::Record& record(size_t stream) const { return records_[stream]; }
  /// What the measurements add over the streams of the batch.
  const std::vector<store::RunSum>& run_sums() const { return run_sums_; }
  /// Attention by position, summed over the streams of the batch, [L].
  const std::vector<store::Curve>& curves() const { return curves_; }

 private:
  using Attention = std::vector<std::vector<stats::HeadAttention>>;  // [stream][head]
  bool head_chosen(int layer, int head) const;
  Attention attention_of(const forward::LayerState& state) const;
  void judge(const Attention& attention, const forward::LayerState& state, int64_t stream);
  void add_curves(const Attention& attention, int layer);

  const model::ModelSpec& spec_;
  const MeasureOptions& options_;
  std::span<const store::SequenceInfo* const> sequences_;
  std::vector<diagnostics::Record> records_;
  std::vector<store::Curve> curves_;
  std::map<size_t, stats::AdviceValues> advice_;  // by stream
  std::vector<store::RunSum> run_sums_;
  std::vector<std::unique_ptr<Measurement>> measurements_;
};

}  // namespace sinkscope::app
