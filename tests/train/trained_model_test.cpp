// What a trainer writes, run by the commands' own forward pass: both must say the same.

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sinkscope/forward/recorder.h"
#include "sinkscope/forward/runner.h"
#include "sinkscope/train/variants.h"
#include "tests/support/paths.h"

namespace sinkscope::train {
namespace {

struct Case {
  const char* name;
  const char* task;
  const char* settings;
  const char* variants;
};

class TrainedModel : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const Case& c = GetParam();
    task_ = make_task(c.task, io::Config::parse(c.settings, "test"));
    plan_.spec = task_->spec();
    plan_.options = find_task(c.task).recipe(false);
    plan_.options.steps = 4, plan_.options.batch = 8;
    VariantNumbers numbers;
    numbers.split = 4, numbers.pathway_width = 8;
    apply_variants(c.variants, numbers, plan_);
    if (plan_.registers > 0) {
      nlohmann::json settings = nlohmann::json::parse(c.settings);
      settings["registers"] = plan_.registers;
      task_ = make_task(c.task, io::Config::parse(settings.dump(), "test"));
      plan_.spec.context = task_->spec().context, plan_.spec.vocabulary = task_->spec().vocabulary;
    }
  }

  std::unique_ptr<Task> task_;
  Plan plan_;
};

TEST_P(TrainedModel, RunsInTheForwardPassAsInTraining) {
  Trainer trainer(*task_, plan_.spec, plan_.options);
  const at::Tensor before = trainer.parameters().values().clone();
  for (int step = 0; step < 4; ++step) trainer.step();
  EXPECT_GT((trainer.parameters().values() - before).abs().max().item<float>(), 0);
  const auto folder = test::scratch_directory(std::string("trained-") + GetParam().name);
  trainer.write_model(folder);

  const c10::NoGradGuard no_grad;
  const Batch batch = task_->batch(Purpose::kEvaluation, 0, 3);
  const at::Tensor ours = run_network(plan_.spec, trainer.parameters(), batch).result;
  const auto model = model::Model::open(folder.string());
  const forward::Tap tap =
      batch.vectors.defined() ? forward::Tap::kFinalNorm : forward::Tap::kLogits;
  for (int64_t i = 0; i < 3; ++i) {
    const forward::Stream stream = stream_of(batch, i);
    forward::Recorder recorder({tap});
    forward::Observer* observers[] = {&recorder};
    forward::Runner(*model, {}).run({&stream, 1}, observers);
    const at::Tensor theirs = recorder.stream(0).at(forward::tap_name(tap, 0));
    // Measured: below 3e-6 of the largest value for every case.
    const double largest = ours[i].abs().max().item<double>();
    EXPECT_LT((theirs - ours[i]).abs().max().item<double>(), 2e-5 * largest) << i;
  }
}

TEST_P(TrainedModel, GoesOnToTheSameBits) {
  const auto file = test::scratch_directory("resume") / (std::string(GetParam().name) + ".state");
  Trainer whole(*task_, plan_.spec, plan_.options), half(*task_, plan_.spec, plan_.options),
      rest(*task_, plan_.spec, plan_.options);
  for (int step = 0; step < 4; ++step) whole.step();
  for (int step = 0; step < 2; ++step) half.step();
  half.save(file);
  rest.load(file);
  EXPECT_EQ(rest.steps_done(), 2);
  for (int step = 0; step < 2; ++step) rest.step();
  EXPECT_TRUE(at::equal(whole.parameters().values(), rest.parameters().values()));
  EXPECT_EQ(whole.running_loss(), rest.running_loss());
}

constexpr const char* kSmallText = R"({"width": 16, "tokens": 16, "symbols": 8})";
constexpr const char* kSmallRows = R"({"width": 16, "tokens": 8})";
INSTANTIATE_TEST_SUITE_P(
    All, TrainedModel,
    testing::Values(
        Case{"damping", "conditional-damping", "{}", "base"},
        Case{"damping_branch", "conditional-damping", R"({"nop_target": "branch"})", "base"},
        Case{"damping_dynamics", "conditional-damping", R"({"nop_target": "dynamics"})", "base"},
        Case{"gate_headwise", "conditional-damping", "{}", "gate-headwise"},
        Case{"gate_elementwise", "copy-paste", kSmallRows, "gate-elementwise"},
        Case{"gates_of_keys_and_values", "copy-paste", kSmallRows, "key-gate+value-gate"},
        Case{"registers", "conditional-damping", "{}", "registers"},
        Case{"registers_of_ids", "bigram-backcopy", kSmallText, "registers"},
        Case{"sink_logit", "bigram-backcopy", kSmallText, "sink-logit"},
        Case{"off_by_one", "bigram-backcopy", kSmallText, "off-by-one"},
        Case{"key_bias", "bigram-backcopy", kSmallText, "key-bias"},
        Case{"key_value_bias", "global-broadcast", kSmallRows, "key-value-bias"},
        Case{"clipped", "bigram-backcopy", kSmallText, "clipped"},
        Case{"sigmoid", "bigram-backcopy", kSmallText, "sigmoid"},
        Case{"relu", "bigram-backcopy", kSmallText, "relu"},
        Case{"broadcast", "global-broadcast", kSmallRows, "base"},
        Case{"pathway", "global-broadcast", kSmallRows, "pathway+penalty"},
        Case{
            "three_layers", "bigram-backcopy",
            R"({"width": 16, "tokens": 16, "symbols": 8, "layers": 3, "offset": 2, "permute": true})",
            "tnlm"},
        Case{"force_sink", "bigram-backcopy", kSmallText, "force-sink"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sinkscope::train
