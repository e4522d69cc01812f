#pragma once

#include "sinkscope/app/console.h"
#include "sinkscope/app/options.h"

namespace sinkscope::app {

int inspect(const InspectOptions& options, Console& console);

}  // namespace sinkscope::app
