#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sinkscope/diagnostics/diagnostic.h"

namespace sinkscope::diagnostics {

/// How a planted query spreads its attention over the keys it sees, [first, last).
enum class PlantedRows {
  kUniform,   ///< evenly
  kDiagonal,  ///< all on itself
  kPrevious,  ///< all on the key before it; the first query on itself
  kLocal4,    ///< evenly on the last four keys, itself included
  kSinkEven,  ///< sink_mass on `first`, the rest evenly on the other keys
  kSinkSelf,  ///< sink_mass on `first`, the rest on itself
  kHalfSink,  ///< even queries all on `first`, odd queries evenly on all keys
};

/// An attention pattern given by its rows, so that long inputs need no T x T matrix.
struct PlantedPattern {
  PlantedRows rows = PlantedRows::kUniform;
  int64_t tokens = 64;
  double sink_mass = 1;
  bool causal = true;    ///< false: every query sees every key of its document
  int64_t window = 0;    ///< last keys a query sees, itself included; 0: all. Causal only
  int64_t document = 0;  ///< length of the packed documents; 0: one document

  int64_t first_key(int64_t query) const;
  int64_t last_key(int64_t query) const;  ///< one past the last
  /// Writes A[query, :] to `row` [tokens].
  void write_row(int64_t query, std::span<double> row) const;
};

/// A head whose verdicts are known. W_O is the identity, so u_j = v_j.
struct PlantedHead {
  std::string name;
  PlantedPattern pattern;
  int64_t tokens = 0, width = 0;  ///< T, K
  std::vector<double> attention;  ///< [T, T]
  std::vector<double> values;     ///< [T, K]
  HeadClass expected_class = HeadClass::kNone;
  std::optional<bool> expected_sink;  ///< none: too short to judge
};

/// Values of the planted tokens.
enum class PlantedValues {
  kUnit,   ///< v_j = e_j (K = T), v_0 times sink_value
  kEqual,  ///< all the same
  kZero,   ///< all zero
};

/// `sink_value`: length of v_0 where values are kUnit; the others have length 1.
PlantedHead plant_head(std::string name, const PlantedPattern& pattern, PlantedValues values,
                       double sink_value = 1);

/// One head of every class and the near misses of each, with the verdicts under the default
/// thresholds. Sizes: 32 to 64 tokens, width equal to tokens; one head of 4 tokens.
std::vector<PlantedHead> planted_heads();

}  // namespace sinkscope::diagnostics
