#pragma once

#include <set>

#include "sinkscope/forward/observer.h"
#include "sinkscope/forward/reference.h"

namespace sinkscope::forward {

/// Keeps whole taps of every stream of a pass, for `verify` and tests: memory grows with all that
/// is kept, so only for short sequences.
class Recorder : public Observer {
 public:
  /// The taps to keep; empty: all of them.
  explicit Recorder(std::set<Tap> taps = {}) : taps_(std::move(taps)) {}

  bool wants(Tap tap, int) const override { return taps_.empty() || taps_.contains(tap); }
  bool wants_sums(int) const override { return true; }
  void on_activation(const Activation& activation) override;
  void on_layer(const LayerState& state) override;

  /// By full name, of one stream.
  const Taps& stream(size_t index) const { return streams_[index]; }
  /// alpha [H, T] = key mass / queries that see the key, from the row summaries, of one layer.
  const at::Tensor& alpha(size_t stream, int layer) const { return alpha_.at({stream, layer}); }

 private:
  std::set<Tap> taps_;
  std::vector<Taps> streams_;
  std::map<std::pair<size_t, int>, at::Tensor> alpha_;
};

/// alpha [H, T] from a whole pattern [H, T, T]: the mean over the queries that see the key.
at::Tensor alpha_of_pattern(const at::Tensor& pattern, const Visibility& visibility);

}  // namespace sinkscope::forward
