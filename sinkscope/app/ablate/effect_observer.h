#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "sinkscope/app/measurements/measurement.h"
#include "sinkscope/store/effects.h"

namespace sinkscope::app {

/// One edited stream of a pass and the stream that it is compared with.
struct Comparison {
  int64_t stream = 0, base = 0;
  std::vector<int64_t> place_of;  ///< by position of the base; empty: the same
  int64_t key = -1;               ///< the edited key: not a recipient; -1: every token is one
  const std::vector<bool>* uses = nullptr;  ///< by position: splits rms; null: no split
  at::Tensor target;                        ///< [D] direction for donor_cosine; undefined: none
  bool target_is_message = false;           ///< what the task wants instead: donor_loss is defined
  int64_t later_layer = 0;                  ///< sinks are counted from this layer on
};

struct ComparisonSettings {
  double epsilon = 0.3;
  int64_t position = 0;    ///< of sink_pos
  bool keep_base = false;  ///< comparisons come long after their base: its rows are kept
  /// As Inputs::row_losses: the loss of models without logits; empty: that of the next token.
  std::function<at::Tensor(const store::SequenceInfo&, int64_t first, const at::Tensor& rows)>
      row_losses = {};
};

/// Compares the outputs of edited streams with those of their bases while the rows pass by: the
/// distributions of one step (or of whole base streams with keep_base) are all that is held.
class EffectObserver : public forward::Observer {
 public:
  EffectObserver(const MeasurementContext& context, const ComparisonSettings& settings,
                 std::vector<Comparison> comparisons);

  bool wants(forward::Tap tap, int layer) const override;
  bool wants_sums(int) const override { return true; }
  void on_activation(const forward::Activation& activation) override;
  void on_layer(const forward::LayerState& state) override;

  /// In the order of the comparisons; the fields that this class measures.
  std::vector<store::Effect> effects() const;

 private:
  /// One position of a base stream.
  struct BaseRow {
    at::Tensor final;          // [D]
    at::Tensor probabilities;  // [V]
    double normaliser = 0;     // log sum exp of its logits
    double mean_logit = 0;     // sum_v p_v l_v
    double loss = 0;           // of the token that follows, or of the task; NaN: none
    int64_t top = -1;
  };
  struct Sums {
    double loss_base = 0, loss = 0, donor_loss = 0, kl = 0;
    int64_t counted = 0, predicted = 0, same_top = 0;
    double change[2] = {0, 0}, size[2] = {0, 0};  // [uses]
    int64_t recipients[2] = {0, 0};
    at::Tensor mean_change;  // [D] double, a sum
  };
  struct SinkCount {
    std::vector<int64_t> first, position;  // by layer: heads whose alpha exceeds epsilon
  };
  using BaseRows = std::map<int64_t, BaseRow>;  // by position

  const std::vector<int32_t>& ids_of(int64_t base) const {
    return context_.sequences[static_cast<size_t>(base)]->ids;
  }
  void keep_base(forward::Tap tap, const at::Tensor& rows, const forward::Segment& segment);
  void compare(forward::Tap tap, const at::Tensor& rows, const forward::Segment& segment,
               size_t comparison);
  void compare_losses(const at::Tensor& rows, const forward::Segment& segment, size_t comparison);
  void compare_finals(const float* row, const BaseRow& base, int64_t position, size_t comparison);
  double sink_share(const SinkCount& count, bool position, int64_t from) const;

  MeasurementContext context_;
  ComparisonSettings settings_;
  std::vector<Comparison> comparisons_;
  std::map<int64_t, size_t> comparison_of_;             // by stream
  std::vector<std::map<int64_t, int64_t>> base_place_;  // by comparison: own position -> base's
  std::vector<Sums> sums_;                              // by comparison
  std::map<int64_t, BaseRows> base_;                    // by base stream
  std::map<int64_t, SinkCount> sinks_;                  // by stream
};

}  // namespace sinkscope::app
