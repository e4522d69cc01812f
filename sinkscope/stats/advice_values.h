#pragma once

#include <cstdint>
#include <limits>

namespace sinkscope::stats {

/// What one sequence loses when its sinks are taken away: next-token loss in nats, mean over its
/// positions; NaN: the edit was not made because it touches nothing.
struct AdviceValues {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double loss = kNone;            ///< without an edit
  double evict_first = kNone;     ///< no later query sees position 0
  double evict_other = kNone;     ///< nor the other position that carries most sink events
  double evict_random = kNone;    ///< control: nor one random position
  double other_position = kNone;  ///< which that other position is
  double massive_zero = kNone;    ///< massive activations set to 0 where they first appear
  double massive_mean = kNone;    ///< set to their mean over the batch
  int64_t nop_heads = 0, broadcast_heads = 0;
  double nop_value = kNone;        ///< values at the sinks of nop heads set to 0
  double nop_column = kNone;       ///< nop heads do not see their sinks
  double broadcast_value = kNone;  ///< values at the sinks of broadcast heads set to 0
};

}  // namespace sinkscope::stats
