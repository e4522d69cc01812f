#pragma once

#include "sinkscope/app/console.h"
#include "sinkscope/app/options.h"

namespace sinkscope::app {

int verify(const VerifyOptions& options, Console& console);

}  // namespace sinkscope::app
