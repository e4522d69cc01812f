#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sinkscope/model/model_spec.h"
#include "sinkscope/train/trainer.h"

namespace sinkscope::train {

/// Numbers that variants take; the defaults are those of method.md section 17.
struct VariantNumbers {
  double clip_alpha = 3;               ///< of clipped: gamma = -alpha / T; 2 to 4 in the source
  std::optional<double> sigmoid_bias;  ///< of sigmoid; -log T where it is not given
  int64_t pathway_width = 64;          ///< of pathway
  double penalty = 1;                  ///< of penalty
  int64_t registers = 4;               ///< of registers
  int64_t split = 16;                  ///< of force-sink
};

/// What a variant may change before a run.
struct Plan {
  model::ModelSpec spec;
  TrainerOptions options;
  int64_t registers = 0;  ///< tokens to be put before every sequence of the task
};

/// One row of the table: a mitigation or another form of attention, by name.
struct Variant {
  std::string_view name;
  std::string_view definition;
  void (*apply)(const VariantNumbers&, Plan&);
};
std::span<const Variant> all_variants();

/// Applies "base", one name, or several joined by "+" ("pathway+penalty"). Throws kUsage listing
/// the names, and kUsage for a combination or a task that has no such thing.
void apply_variants(std::string_view names, const VariantNumbers& numbers, Plan& plan);

}  // namespace sinkscope::train
