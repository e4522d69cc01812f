#pragma once

#include "sinkscope/app/console.h"
#include "sinkscope/app/options.h"

namespace sinkscope::app {

int report(const ReportOptions& options, Console& console);

}  // namespace sinkscope::app
