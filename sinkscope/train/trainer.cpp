#include "sinkscope/train/trainer.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

#include "sinkscope/base/error.h"

namespace sinkscope::train {

Trainer::Trainer(const Task& task, const model::ModelSpec& spec, const TrainerOptions& options)
    : task_(task),
      spec_(spec),
      options_(options),
      parameters_(spec, options.seed, options.gate_bias),
      optimiser_(options.optimiser, parameters_.count()) {
  for (int64_t layer = 0; options.freeze_sinks && layer < spec.layers; ++layer) {
    parameters_.freeze("blocks." + std::to_string(layer) + ".sinks");
  }
  if (options.steps < 1 || options.batch < 1) {
    throw Error(ErrorKind::kUsage, "read training options",
                fmt::format("--steps {} --batch {}", options.steps, options.batch), "at least 1");
  }
}

at::Tensor Trainer::task_loss(const Batch& batch, const Outputs& outputs) const {
  if (!options_.skip_first_loss) return mean_loss(batch, token_losses(batch, outputs.result));
  Batch without_first = batch;
  without_first.kinds = batch.kinds.clone();
  without_first.kinds.select(1, 0).fill_(kNotCounted);
  return mean_loss(without_first, token_losses(batch, outputs.result));
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
  parameters_.gradients().zero_();
  const Outputs outputs = run_network(spec_, parameters_, batch);
  at::Tensor loss = task_loss(batch, outputs);
  result.loss = loss.item<double>();
  check_finite(result.loss);
  if (options_.penalty > 0) {
    const at::Tensor penalty = common_mode_penalty(outputs);
    result.penalty = penalty.item<double>();
    loss = loss + options_.penalty * penalty;
  }
  loss.backward();
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
