#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sinkscope/app/measurements/measurement.h"
#include "sinkscope/diagnostics/sink.h"
#include "sinkscope/stats/hidden_state.h"

namespace sinkscope::app {

/// What the unedited model does with one head in one sequence.
struct HeadFacts {
  int64_t key = -1;  ///< the key that edits of the head act on; -1: too short to judge, no key
  bool event = false, conditional = false;  ///< a sink event at the key, a conditional sink there
  at::Tensor value;                         ///< [K] v at the key
  int64_t other = -1;      ///< a seeded choice among the other tokens; -1: there is none
  at::Tensor other_value;  ///< [K]
  std::vector<bool> uses;  ///< [T] queries with A_i,key >= event_mass
};

/// A massive activation where it first appears.
struct MassivePlace {
  int64_t layer = 0;  ///< block whose input holds it
  int64_t position = 0, channel = 0;
  double value = 0;
};

/// What the unedited model does in one sequence: all that edits are made of.
struct SequenceFacts {
  std::vector<std::vector<HeadFacts>> heads;  ///< [layer][head]
  std::vector<at::Tensor> mean_z;             ///< by layer, [H, K] mean over tokens
  std::vector<at::Tensor> z;                  ///< by layer, [T, H, K]; only when asked for
  std::vector<at::Tensor> message;            ///< by layer, [1, P] of models with a global pathway
  std::vector<double> attention_first, attention_median;  ///< by layer: ||attn out||, P0 and rest
  std::vector<MassivePlace> massive;
  at::Tensor mean_final;  ///< [D] mean final normed state over tokens after the first
};

struct BaseOptions {
  std::optional<int64_t> key;  ///< every head's key; none: its dominant one
  bool keep_z = false;
};

/// Listens to a pass without edits.
class BaseFacts : public forward::Observer {
 public:
  /// `context.sequences`: the streams of the pass.
  BaseFacts(const MeasurementContext& context, const BaseOptions& options);

  bool wants(forward::Tap tap, int layer) const override;
  bool wants_sums(int) const override { return true; }
  void on_activation(const forward::Activation& activation) override;
  void on_layer(const forward::LayerState& state) override;

  /// By stream.
  std::vector<SequenceFacts>& facts() { return facts_; }

 private:
  void judge_heads(const forward::LayerState& state, const forward::Segment& rows);
  void keep_message(const forward::LayerState& state, const forward::Segment& rows);
  void find_massive(const forward::LayerState& state, const forward::Segment& rows);

  const MeasurementContext& context_;
  BaseOptions options_;
  std::vector<SequenceFacts> facts_;
  std::vector<std::vector<double>> attention_norms_;  // by stream, of the layer in progress
  std::vector<std::vector<at::Tensor>> normed_;       // the same; what a pathway reads, in parts
};

}  // namespace sinkscope::app
