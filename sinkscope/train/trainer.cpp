#include "sinkscope/train/trainer.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

#include "sinkscope/base/error.h"

namespace sinkscope::train {
namespace {

Parameters initial_parameters(const model::ModelSpec& spec, const TrainerOptions& options) {
  Parameters parameters(spec, options);
  for (int64_t layer = 0; options.freeze_sinks && layer < spec.layers; ++layer) {
    parameters.freeze("blocks." + std::to_string(layer) + ".sinks");
  }
  return parameters;
}

}  // namespace

Trainer::Trainer(const Task& task, const model::ModelSpec& spec, const TrainerOptions& options)
    : task_(task),
      spec_(spec),
      options_(options),
      parameters_(initial_parameters(spec, options)),
      gradients_(spec, parameters_),
      optimiser_(options.optimiser, parameters_.count()) {
  if (options.steps < 1 || options.batch < 1) {
    throw Error(ErrorKind::kUsage, "read training options",
                fmt::format("--steps {} --batch {}", options.steps, options.batch), "at least 1");
  }
}

void Trainer::check_finite(double loss) const {
  if (std::isfinite(loss)) return;
  throw Error(ErrorKind::kBadNumbers, "train",
              fmt::format("the loss of step {} is {}", done_ + 1, loss),
              "a lower --lr, --clip 1 or --warmup 200 may help; the last checkpoint is kept");
}

StepResult Trainer::step() {
  StepResult result;
  const Batch batch = task_.batch(Purpose::kTraining, done_, options_.batch);
  const Gradients::Losses losses = gradients_.run(batch, options_);
  result.loss = losses.task, result.penalty = losses.penalty;
  check_finite(result.loss);
  result.rate = rate_at(options_.optimiser, done_, options_.steps);
  result.gradient_norm =
      optimiser_.step(parameters_.values(), parameters_.gradients(), done_, options_.steps);
  check_finite(result.gradient_norm);
  const double share = done_ == 0 ? 0 : options_.smoothing;
  running_loss_ = share * running_loss_ + (1 - share) * result.loss;
  ++done_;
  return result;
}

}  // namespace sinkscope::train
