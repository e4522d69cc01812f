#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "sinkscope/report/terminal.h"
#include "sinkscope/store/effects.h"

namespace sinkscope::report {

/// One intervention at one target, over its sequences.
struct EffectRow {
  std::string intervention;
  int64_t layer = -1, head = -1;
  int64_t sequences = 0;
  int64_t key = -1;      ///< the most frequent one; ties: the lowest
  bool same_key = true;  ///< in every sequence
  /// Or root mean square, where EffectMetric::squares says so; in the order of
  /// store::effect_metrics(). NaN: no data.
  std::vector<double> mean;
  double loss_change = diagnostics::kNoData;      ///< mean over sequences of loss - loss_base
  double loss_change_sem = diagnostics::kNoData;  ///< its standard error; NaN for one sequence
};

/// One of the means by its field.
double mean_of(const EffectRow& row, double store::Effect::*value);

/// By intervention, layer, head.
std::vector<EffectRow> summarise_effects(std::span<const store::Effect> effects);

/// Whether the losses are those of outputs that are vectors: squared errors, no distributions.
bool are_squared_errors(std::span<const EffectRow> rows);

/// Schema sinkscope.ablate/1 (docs/json.md).
void write_effects_json(const store::EffectStore& store, std::ostream& out);
/// One line per intervention, layer, head and sequence.
void write_effects_csv(const store::EffectStore& store, std::ostream& out);
/// A line per intervention, the heads that matter most, and a map of them; of outputs that are
/// vectors a line per intervention and target.
void write_effects_terminal(const store::EffectStore& store, const TerminalOptions& options,
                            std::ostream& out);

}  // namespace sinkscope::report
