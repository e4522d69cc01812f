#pragma once

#include <memory>

#include "sinkscope/app/inputs.h"
#include "sinkscope/train/task.h"

namespace sinkscope::app {

/// The sequences of a task's batch, with the kind of each query as its label where the tokens have
/// no names.
Inputs task_inputs(const train::Task& task, std::shared_ptr<const train::Batch> batch);

/// What a model that `train` made is measured on when nothing is given: sequences of its own task.
/// Throws kUsage when its config.json names none.
Inputs read_task_inputs(const InputOptions& options, const model::Model& model);

/// Whether the options name nothing to run.
bool names_nothing(const InputOptions& options);

}  // namespace sinkscope::app
