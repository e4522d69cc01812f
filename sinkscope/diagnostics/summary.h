#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sinkscope/diagnostics/diagnostic.h"

namespace sinkscope::diagnostics {

/// Fewest queries that must see a key for it to be judged, in an input of `tokens` tokens:
///
///   max(clamp(tokens, ceil(min_queries / 2), min_queries), floor(1 / epsilon) + 1)
///
/// With the defaults 16 from 16 tokens on, 8 to 15 for as many tokens, and never reached below 8.
/// Why: docs/diagnostics/sink.md.
int64_t effective_min_queries(int64_t tokens, const Thresholds& thresholds);

/// Throws Error{kUsage} naming the flag, its value and the range allowed.
void check_thresholds(const Thresholds& thresholds);

/// Rows to run: the plain ones and those of `names`, in table order; "all" stands for every row.
/// Throws Error{kUsage} listing the known names.
std::vector<const Diagnostic*> select_diagnostics(std::span<const std::string> names);

struct Interval {
  double low, high;
};

/// Wilson 95 % interval of a share; both ends kNoData when `total` is not positive.
Interval wilson_interval(int64_t successes, int64_t total);

/// First layer whose rate exceeds half of the largest (method.md section 13); -1 when the largest
/// is below 0.05. `rates` by layer, NaN where a layer was not measured.
int formation_layer(std::span<const double> rates);

/// Where the sink stands among the first layers and the first two positions (method.md section 13).
struct Placement {
  double concentration;  ///< rate of layer min(2, L - 1) / largest rate
  double displacement;   ///< sum of position 1's rates / sum of both positions' rates
  double reading;        ///< concentration (1 - displacement); 0 where no rate reaches 0.05
};
/// By layer, the sink rates of positions 0 and 1; NaN where a layer was not measured or a result is
/// undefined.
Placement placement(std::span<const double> rate0, std::span<const double> rate1);

}  // namespace sinkscope::diagnostics
