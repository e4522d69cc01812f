#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sinkscope/app/train/options.h"
#include "sinkscope/train/variants.h"

namespace sinkscope::app {

/// One model to be trained.
struct TrainRun {
  std::string name;  ///< "base-seed0", "gamma=0.1-seed0"; of its folder too
  std::string arm;   ///< "base", "gamma=0.1"
  std::unique_ptr<train::Task> task;
  train::Plan plan;
};

/// Arms x seeds, then every sweep's values x seeds. Runs of one seed share data and initial values.
/// Throws kUsage naming the flag.
std::vector<TrainRun> plan_runs(const TrainOptions& options);

}  // namespace sinkscope::app
