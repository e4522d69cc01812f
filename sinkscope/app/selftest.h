#pragma once

#include "sinkscope/app/console.h"
#include "sinkscope/app/options.h"

namespace sinkscope::app {

int selftest(const SelftestOptions& options, Console& console);

}  // namespace sinkscope::app
