#pragma once

#include <vector>

#include "sinkscope/report/findings.h"
#include "sinkscope/store/run_result.h"

namespace sinkscope::report {

/// What to keep, protect or replace, each with the measured loss that it rests on
/// (docs/diagnostics/recommend.md); empty without `--diag recommend`.
std::vector<Finding> find_advice(const store::RunResult& run);

}  // namespace sinkscope::report
