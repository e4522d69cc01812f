#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sinkscope/model/model_spec.h"
#include "sinkscope/train/gradients.h"
#include "sinkscope/train/optimiser.h"
#include "sinkscope/train/options.h"
#include "sinkscope/train/parameters.h"
#include "sinkscope/train/task.h"

namespace sinkscope::train {

/// Everything that decides what a run's steps do, as JSON text: two runs must share it to go on
/// from each other's files.
std::string identity_of(const Task& task, const model::ModelSpec& spec,
                        const TrainerOptions& options);

/// What one step did.
struct StepResult {
  double loss = 0;     ///< of the task, without the penalty
  double penalty = 0;  ///< before its factor; 0 without one
  double gradient_norm = 0;
  double rate = 0;
};

/// Trains a lab model on a task. What a step does depends on the options, the values and the step's
/// number alone: a run that was saved and loaded goes on to the very same bits, on the same machine
/// with any number of threads.
class Trainer {
 public:
  /// Throws kUsage for options out of range.
  Trainer(const Task& task, const model::ModelSpec& spec, const TrainerOptions& options);

  /// Throws kBadNumbers naming the step when the loss or a weight is no longer finite; the values
  /// are then those after the last step.
  StepResult step();

  int64_t steps_done() const { return done_; }
  double running_loss() const { return running_loss_; }  ///< exponential mean
  const model::ModelSpec& spec() const { return spec_; }
  const Parameters& parameters() const { return parameters_; }
  const TrainerOptions& options() const { return options_; }
  const Task& task() const { return task_; }

  /// The model as every command opens it: config.json and model.safetensors in `directory`.
  void write_model(const std::filesystem::path& directory) const;
  /// Everything a later run needs to go on: one file, written under another name, synced, renamed.
  void save(const std::filesystem::path& file) const;
  /// Throws kBadFile when the file is not of this task, model and options (naming what differs).
  void load(const std::filesystem::path& file);

 private:
  void check_finite(double loss) const;
  void check_identity(const std::filesystem::path& file, std::string_view found) const;

  const Task& task_;
  model::ModelSpec spec_;
  TrainerOptions options_;
  Parameters parameters_;
  Gradients gradients_;  // reads parameters_
  Optimiser optimiser_;
  int64_t done_ = 0;
  double running_loss_ = 0;
};

}  // namespace sinkscope::train
