#pragma once

#include "sinkscope/app/console.h"
#include "sinkscope/app/theory/options.h"

namespace sinkscope::app {

/// `sinkscope theory WHAT`: runs the units of a calculator that are not yet in the store,
/// concludes, and writes the results. 1 when a check does not hold.
int theory(const TheoryOptions& options, Console& console);

}  // namespace sinkscope::app
