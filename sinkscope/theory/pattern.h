#pragma once

#include <cstdint>
#include <vector>

namespace sinkscope::theory {

/// Which key each query prefers: W must make z_i^T W z_w(i) exceed z_i^T W z_j by the margin at
/// every other key j that query i sees (method.md section 8).
struct Pattern {
  std::vector<int64_t> winner;  ///< w(i), one per token; kFree: the query asks for nothing
  bool causal = true;           ///< query i sees keys 0..i; otherwise all

  static constexpr int64_t kFree = -1;
  int64_t tokens() const { return static_cast<int64_t>(winner.size()); }
  /// Keys 0..visible-1 are seen by query i.
  int64_t visible(int64_t query) const { return causal ? query + 1 : tokens(); }
  /// Number of comparisons, over all queries.
  int64_t pairs() const;
};

/// Of tokens z_0 .. z_T, T = `context` >= 1. Query 0 is free: under the causal mask it has no
/// choice.
Pattern sink_pattern(int64_t context, bool causal);      ///< w(i) = 0
Pattern diagonal_pattern(int64_t context, bool causal);  ///< w(i) = i

/// Active queries prefer their source, the others the sink (or themselves): source[i] >= 0 is the
/// key that query i copies from, Pattern::kFree marks a dormant query.
Pattern mixed_sink_pattern(const std::vector<int64_t>& source, bool causal);
Pattern mixed_diagonal_pattern(const std::vector<int64_t>& source, bool causal);

/// Sources of bigram-backcopy: every query i divisible by `every` copies from i - offset where that
/// is a context token.
std::vector<int64_t> backcopy_sources(int64_t context, int64_t every, int64_t offset);
/// Of copy-paste: the same queries copy from a fixed random earlier context token.
std::vector<int64_t> copy_paste_sources(int64_t context, int64_t every, uint64_t seed);

}  // namespace sinkscope::theory
