#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sinkscope/diagnostics/diagnostic.h"

namespace sinkscope::store {

/// By sequence id: [layer][heads x width], as Store::values gives them.
using SequenceValues = std::map<int64_t, std::vector<std::vector<double>>>;

struct Aggregated {
  std::vector<std::vector<double>> value;   ///< [layer][entry], NaN without data
  std::vector<std::vector<int64_t>> count;  ///< sequences with data
};

/// Restricts an aggregate to the heads and sequences whose flag is 1.
struct Mask {
  const SequenceValues& flags;  ///< [layer][head]
  size_t width;                 ///< entries per head of the values it is used with
};

/// One value per layer and entry by `rule`, over the sequences with data, in order of their ids.
/// kMode: the most frequent value, ties to the lowest. `mask` may be null.
Aggregated aggregate(const SequenceValues& values, diagnostics::Aggregate rule,
                     const Mask* mask = nullptr);

/// Share of the sequences with data whose value is the most frequent one.
Aggregated mode_share(const SequenceValues& values);

/// Codes of HeadClass: majority of nop, broadcast, other (ties: lowest code); kNone when there is
/// none of them; kTooShort when every sequence was.
Aggregated majority_class(const SequenceValues& values);

/// Three entries per head: sequences classed nop, broadcast, other.
Aggregated class_counts(const SequenceValues& values);

/// Triples (channel, position, value): the places with the largest sum of |value| over the
/// sequences, each with the mean of its values; as many as one sequence has.
Aggregated top_places(const SequenceValues& values);

}  // namespace sinkscope::store
