#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sinkscope/store/run_result.h"

namespace sinkscope::report {

/// One thing worth knowing about a run, with the number it rests on.
struct Finding {
  std::string key;       ///< which rule made it: "sink_rate", "classes", "strong_layers", ...
  std::string text;      ///< one sentence
  double number = 0;     ///< the number in it; NaN where there is none
  std::string evidence;  ///< the key of the number in sinkscope.scan/1: "summary.sink_rate"
  std::string view;      ///< page view that shows it: overview, heads, head, circuit
  std::optional<int> layer, head;
};

/// Mean alpha_0 over the heads of a layer; NaN without data.
double layer_alpha(const store::RunResult& run, int layer);

/// At most six, most important first. Derived from the numbers of the run alone.
std::vector<Finding> find_findings(const store::RunResult& run);

}  // namespace sinkscope::report
