#pragma once

#include <cstdint>
#include <functional>
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

/// Which values of a sequence take part; empty: all. `entry` counts heads x width.
using Keep = std::function<bool(int64_t sequence, size_t layer, size_t entry)>;

/// One value per layer and entry by `rule`, over the sequences with data, in order of their ids.
/// kMode: the most frequent value, ties to the lowest.
Aggregated aggregate(const SequenceValues& values, diagnostics::Aggregate rule,
                     const Keep& keep = {});

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
