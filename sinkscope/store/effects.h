#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sinkscope/diagnostics/diagnostic.h"
#include "sinkscope/store/store.h"

namespace sinkscope::store {

/// What one intervention did in one sequence (method.md section 6). NaN: not defined there.
struct Effect {
  std::string intervention;
  int64_t layer = -1, head = -1;  ///< -1: not of one layer or head
  int64_t sequence = 0;
  int64_t key = -1;  ///< position of the edited key; -1: none

  double loss_base = diagnostics::kNoData, loss = diagnostics::kNoData;
  double kl = diagnostics::kNoData, top1 = diagnostics::kNoData;
  double rms = diagnostics::kNoData, rms_using = diagnostics::kNoData,
         rms_other = diagnostics::kNoData;
  double change_using = diagnostics::kNoData, change_other = diagnostics::kNoData;
  double shared_energy = diagnostics::kNoData, donor_cosine = diagnostics::kNoData,
         donor_loss = diagnostics::kNoData;
  double sink0_base = diagnostics::kNoData, sink0 = diagnostics::kNoData;
  double sink_pos_base = diagnostics::kNoData, sink_pos = diagnostics::kNoData;
};

struct EffectMetric {
  std::string_view name;  ///< column of the table `effect`, key in JSON and CSV
  double Effect::*value;
  std::string_view unit, definition;
  bool squares = false;  ///< over sequences: its root mean square, not its mean
};
std::span<const EffectMetric> effect_metrics();

/// A database of the same file format as Store, with effects instead of measured sequences. Every
/// put() is one transaction: a killed run repeats no finished effect.
class EffectStore {
 public:
  static std::unique_ptr<EffectStore> in_memory(const Facts& identity);
  /// Errors as Store::open_or_create and Store::open.
  static std::unique_ptr<EffectStore> open_or_create(const std::filesystem::path& file,
                                                     const Facts& identity, bool overwrite);
  /// In a store of an older schema the measures that it had no columns for are NaN.
  static std::unique_ptr<EffectStore> open(const std::filesystem::path& file);
  virtual ~EffectStore() = default;

  virtual Facts identity() const = 0;
  virtual void put_fact(std::string_view key, std::string_view json) = 0;
  virtual Facts facts() const = 0;
  virtual void put(std::span<const Effect> effects) = 0;
  /// By intervention, layer, head, sequence.
  virtual std::vector<Effect> effects() const = 0;
};

/// Identity key that a store of effects has and a store of measured sequences has not.
inline constexpr std::string_view kInterventionsKey = "ablate.interventions";

}  // namespace sinkscope::store
