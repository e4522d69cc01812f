#pragma once

#include "sinkscope/app/console.h"
#include "sinkscope/app/options.h"

namespace sinkscope::app {

int ablate(const AblateOptions& options, Console& console);

}  // namespace sinkscope::app
