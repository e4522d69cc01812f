#pragma once

#include <algorithm>
#include <vector>

#include "sinkscope/diagnostics/diagnostic.h"

namespace sinkscope::diagnostics {

/// The mean of the middle two where their number is even; kNoData without values.
inline double median(std::vector<double> values) {
  if (values.empty()) return kNoData;
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

}  // namespace sinkscope::diagnostics
