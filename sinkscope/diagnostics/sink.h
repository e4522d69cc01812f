#pragma once

#include <cstdint>
#include <vector>

#include "sinkscope/diagnostics/diagnostic.h"

namespace sinkscope::diagnostics {

/// Stands for the learned sink logit where a key's position is expected.
inline constexpr int64_t kSinkLogitKey = -1;
/// Routed share from which a head that is no event counts as a conditional sink.
inline constexpr double kConditionalShare = 0.1;

/// What the dominant key of one head in one sequence is (method.md section 1). Only `too_short` is
/// meaningful when it is set.
struct SinkVerdict {
  bool too_short = true;  ///< no key is seen by enough queries
  int64_t key = 0;        ///< largest alpha among the judged keys; ties: lowest position
  double alpha = kNoData;
  double lift = kNoData;           ///< alpha over that of a uniform head
  double routed = kNoData;         ///< share of the key's queries that give it event_mass or more
  bool sink = false;               ///< alpha > epsilon and lift >= min_lift
  bool event = false;              ///< routed >= event_query_share
  bool conditional = false;        ///< kConditionalShare <= routed < event_query_share
  std::vector<int64_t> sink_keys;  ///< every key that passes the sink rule, largest alpha first
};

SinkVerdict judge_sink(const stats::AttentionValues& attention, const Thresholds& thresholds);

}  // namespace sinkscope::diagnostics
