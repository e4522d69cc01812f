#pragma once

#include "sinkscope/app/console.h"
#include "sinkscope/app/train/options.h"

namespace sinkscope::app {

int train(const TrainOptions& options, Console& console);

}  // namespace sinkscope::app
