#pragma once

#include <ostream>

#include "sinkscope/store/run_result.h"

namespace sinkscope::report {

/// A zip (stored, not compressed) of .npy arrays in C order, float64, NaN for no data. Head metrics
/// [L, H] or [L, H, width] and layer metrics [L] or [L, width] under the JSON keys, and
/// `alpha_by_position` [L, H, T] where the run stored curves.
/// Throws kTooLarge above the 4 GiB that a plain zip can hold.
void write_npz(const store::RunResult& run, std::ostream& out);

}  // namespace sinkscope::report
