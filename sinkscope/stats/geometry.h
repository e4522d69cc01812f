#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "sinkscope/forward/observer.h"
#include "sinkscope/stats/geometry_values.h"

namespace sinkscope::stats {

/// Positions whose pairs make the sink conditions of key `sink`: the other queries that see it, and
/// the other keys that any of them sees, both ascending.
struct SinkPairs {
  int64_t sink = 0;
  std::vector<int64_t> queries, keys;
};
SinkPairs sink_pairs(const forward::Visibility& visibility, int64_t tokens, int64_t sink);

/// Keys of `pairs` whose row equals the sink's within 1e-6 of the sink's length; `rows` [T, width]
/// float32, last dimension contiguous.
int64_t duplicates_of_sink(const at::Tensor& rows, const SinkPairs& pairs);

/// H1 and H2 with margins and gaps (theory/min_norm_point.h), in float64, from query and key rows
/// [T, width] float32 whose last dimension is contiguous. Empty lists give NaN. `duplicates` > 0
/// decides H1 whether or not the duplicate is listed.
GeometryValues sink_geometry(const at::Tensor& query_rows, const at::Tensor& key_rows,
                             const SinkPairs& pairs, int64_t duplicates);

/// Adds the least norms of a sink at, and a diagonal over, the listed queries and the sink.
/// `z` [T, D] float32; `diagonal` are positions out of pairs.queries, ascending, that may stand for
/// all: a subset makes the lower bounds weaker, and leaves no upper bound.
void add_pattern_costs(const at::Tensor& z, const SinkPairs& pairs, bool causal,
                       const std::vector<int64_t>& diagonal, GeometryValues& values);

}  // namespace sinkscope::stats
