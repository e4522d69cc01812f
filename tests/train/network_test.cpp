#include "sinkscope/train/network.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sinkscope/train/gradients.h"
#include "sinkscope/train/tasks/registers.h"
#include "sinkscope/train/trainer.h"
#include "sinkscope/train/variants.h"

namespace sinkscope::train {
namespace {

struct Lab {
  std::unique_ptr<Task> task;
  Plan plan;
  std::unique_ptr<Parameters> parameters;
  Batch batch;
};

Lab make_lab(const char* task, const char* settings, const char* variants, int64_t sequences) {
  Lab lab;
  lab.task = find_task(task).make(io::Config::parse(settings, "test"));
  VariantNumbers numbers;
  numbers.registers = 2, numbers.split = 5, numbers.pathway_width = 8, numbers.clip_alpha = 0.05;
  if (std::string_view(variants) == "registers") {
    lab.task = with_registers(std::move(lab.task), numbers.registers);
  }
  lab.plan.spec = lab.task->spec();
  // A kink that all sequences share, that of the first token, spoils differences; one case keeps
  // it.
  if (std::string_view(variants) != "base") lab.plan.spec.activation = model::Activation::kGelu;
  apply_variants(variants, numbers, lab.plan);
  lab.parameters = std::make_unique<Parameters>(lab.plan.spec, lab.plan.options);
  // Small initial values leave many gradients near 0, where nothing can be told from rounding.
  at::Tensor values = lab.parameters->values();
  values.add_(normal(4, values.sizes()), 0.1);
  lab.batch = lab.task->batch(Purpose::kTraining, 0, sequences);
  return lab;
}

/// The batch's objective without slices, in double from the tokens' losses on.
double objective(const Lab& lab) {
  const c10::NoGradGuard no_grad;
  const Outputs outputs = run_network(lab.plan.spec, *lab.parameters, lab.batch);
  Batch batch = lab.batch;
  if (lab.plan.options.skip_first_loss) {
    batch.kinds = batch.kinds.clone();
    batch.kinds.select(1, 0).fill_(kNotCounted);
  }
  const at::Tensor losses = token_losses(batch, outputs.result).to(at::kDouble);
  double sum = mean_loss(batch, losses).item<double>();
  if (lab.plan.options.penalty > 0) {
    const auto sequences = static_cast<double>(lab.batch.kinds.size(0));
    sum += lab.plan.options.penalty *
           common_mode_penalty(common_mode_energies(outputs) / sequences).item<double>();
  }
  return sum;
}

/// The slope of the objective along each weight's gradient is the gradient's length.
void expect_slopes(const Lab& lab) {
  // Rounding moves the objective by up to 5e-7 of it, which asks for long steps; kinks between the
  // two points of a difference ask for short ones.
  const bool kinks = lab.plan.spec.scores.kind == model::ScoreKind::kRelu;
  const double change = kinks ? 2e-5 : 2e-4;
  Gradients gradients(lab.plan.spec, *lab.parameters);
  const Gradients::Losses losses = gradients.run(lab.batch, lab.plan.options);
  EXPECT_NEAR(losses.task + lab.plan.options.penalty * losses.penalty, objective(lab),
              2e-6 * objective(lab));
  for (const Parameters::Entry& entry : lab.parameters->entries()) {
    at::Tensor w = lab.parameters->values().narrow(0, entry.first, entry.elements);
    const at::Tensor g = lab.parameters->gradients().narrow(0, entry.first, entry.elements).clone();
    const double length = g.norm().item<double>(), size = w.norm().item<double>();
    if (!lab.parameters->at(entry.ours).requires_grad()) {
      EXPECT_EQ(length, 0) << entry.ours;
      continue;
    }
    ASSERT_GT(length, 0) << entry.ours;
    const at::Tensor kept = w.clone();
    const double h = std::min(0.03 * std::max(size, 1.0), change * objective(lab) / length);
    w.copy_(kept + g * (h / length));
    const double up = objective(lab);
    w.copy_(kept - g * (h / length));
    const double down = objective(lab);
    w.copy_(kept);
    EXPECT_NEAR((up - down) / (2 * h) / length, 1, 0.02) << entry.ours << ", " << length;
  }
}

struct Case {
  const char* task;
  const char* settings;
  const char* variants;
};
constexpr const char* kSmallBroadcast = R"({"width": 24, "tokens": 9})";
constexpr const char* kSmallBackcopy = R"({"width": 24, "tokens": 19, "layers": 2})";

class Slopes : public testing::TestWithParam<Case> {};
TEST_P(Slopes, AreTheGradients) {
  expect_slopes(make_lab(GetParam().task, GetParam().settings, GetParam().variants, 150));
}
INSTANTIATE_TEST_SUITE_P(
    Variants, Slopes,
    testing::Values(Case{"conditional-damping", "{}", "base"},
                    Case{"global-broadcast", kSmallBroadcast, "base"},
                    Case{"global-broadcast", kSmallBroadcast, "pathway+penalty"},
                    Case{"global-broadcast", kSmallBroadcast, "gate-headwise+penalty"},
                    Case{"global-broadcast", kSmallBroadcast, "registers"},
                    Case{"bigram-backcopy", kSmallBackcopy, "base"},
                    Case{"bigram-backcopy", kSmallBackcopy, "gate-elementwise"},
                    Case{"bigram-backcopy", kSmallBackcopy, "value-gate"},
                    Case{"bigram-backcopy", kSmallBackcopy, "key-gate"},
                    Case{"bigram-backcopy", kSmallBackcopy, "sink-logit"},
                    Case{"bigram-backcopy", kSmallBackcopy, "key-bias"},
                    Case{"bigram-backcopy", kSmallBackcopy, "key-value-bias"},
                    Case{"bigram-backcopy", kSmallBackcopy, "clipped"},
                    Case{"bigram-backcopy", kSmallBackcopy, "sigmoid"},
                    Case{"bigram-backcopy", kSmallBackcopy, "relu"},
                    Case{"bigram-backcopy", kSmallBackcopy, "tnlm"},
                    Case{"bigram-backcopy", kSmallBackcopy, "force-sink"},
                    Case{"copy-paste", "{}", "base"}));

TEST(Gradients, SameBitsForAnyNumberOfThreads) {
  const int threads = at::get_num_threads();
  const Lab lab = make_lab("global-broadcast", kSmallBroadcast, "penalty", 300);
  Gradients gradients(lab.plan.spec, *lab.parameters);
  std::vector<at::Tensor> results;
  std::vector<double> losses;
  for (const int count : {1, 2, 3, 2}) {
    at::set_num_threads(count);
    losses.push_back(gradients.run(lab.batch, lab.plan.options).task);
    results.push_back(lab.parameters->gradients().clone());
  }
  at::set_num_threads(threads);
  for (size_t i = 1; i < results.size(); ++i) {
    EXPECT_TRUE(at::equal(results[0], results[i])) << i;
    EXPECT_EQ(losses[0], losses[i]) << i;
  }
}

TEST(Trainer, SameBitsForAnyNumberOfThreads) {
  const int threads = at::get_num_threads();
  const auto task = find_task("global-broadcast").make(io::Config::parse("{}", "test"));
  TrainerOptions options;
  options.batch = 90;
  options.optimiser.clip = 0.1;  // makes values depend on the gradient's norm
  std::vector<at::Tensor> results;
  for (const int count : {1, 2, 3}) {
    at::set_num_threads(count);
    Trainer trainer(*task, task->spec(), options);
    for (int i = 0; i < 3; ++i) trainer.step();
    results.push_back(trainer.parameters().values().clone());
  }
  at::set_num_threads(threads);
  EXPECT_TRUE(at::equal(results[0], results[1]));
  EXPECT_TRUE(at::equal(results[0], results[2]));
}

TEST(Gradients, FewerSequencesThanLanes) {
  const Lab lab = make_lab("bigram-backcopy", kSmallBackcopy, "base", 3);
  expect_slopes(lab);
}

TEST(CommonMode, SharedUpdatesCostOneAndCentredOnesNothing) {
  const at::Tensor shared = normal(1, {4, 1, 8}).expand({4, 6, 8});
  at::Tensor centred = normal(2, {4, 6, 8});
  centred = centred - centred.mean(1, true);
  const auto penalty = [](const at::Tensor& o) {
    return common_mode_penalty(common_mode_energies({o, {o, o}}) / 4).item<double>();
  };
  EXPECT_NEAR(penalty(shared), 2, 1e-6);
  EXPECT_NEAR(penalty(centred), 0, 1e-6);
  EXPECT_NEAR(penalty(3 * (shared + centred)), penalty(shared + centred), 1e-6);
}

}  // namespace
}  // namespace sinkscope::train
