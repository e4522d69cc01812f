#pragma once

#include <ostream>

#include "sinkscope/store/run_result.h"

namespace sinkscope::report {

/// One row per measured (layer, head): model, revision, step, seq_len, layer, head, then a column
/// per head metric; a metric of width W > 1 has the columns name_0 .. name_{W-1}. RFC 4180 with
/// "\n" line ends; an empty field is "no data".
void write_csv(const store::RunResult& run, std::ostream& out);

}  // namespace sinkscope::report
