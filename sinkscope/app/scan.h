#pragma once

#include "sinkscope/app/console.h"
#include "sinkscope/app/options.h"

namespace sinkscope::app {

int scan(const ScanOptions& options, Console& console);

}  // namespace sinkscope::app
