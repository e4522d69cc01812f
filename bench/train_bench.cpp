// Training steps of the lab's recipes, whole and in parts. compare_training.py runs the same models
// in PyTorch beside `step`.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <c10/core/GradMode.h>

#include "sinkscope/forward/kernels/linear.h"
#include "sinkscope/train/trainer.h"

namespace sinkscope::train {
namespace {

struct Recipe {
  const char* task;
  const char* settings;
};
constexpr Recipe kDamping{"conditional-damping", "{}"}, kBroadcast{"global-broadcast", "{}"},
    kBackcopy{"bigram-backcopy", "{}"}, kPaperBackcopy{"bigram-backcopy", R"({"paper": true})"};

struct Setup {
  Setup(const Recipe& recipe, int64_t sequences)
      : task(find_task(recipe.task).make(io::Config::parse(recipe.settings, "bench"))) {
    forward::kernels::prepare_process();
    at::set_num_threads(2);  // after that: OpenBLAS' own setting changes it
    options.batch = sequences;
    options.steps = 1 << 20;
  }
  std::unique_ptr<Task> task;
  TrainerOptions options;
};

void step(benchmark::State& state, const Recipe& recipe) {
  const Setup setup(recipe, state.range(0));
  Trainer trainer(*setup.task, setup.task->spec(), setup.options);
  for (auto _ : state) trainer.step();
  state.counters["steps/s"] = benchmark::Counter(1, benchmark::Counter::kIsIterationInvariantRate);
}

void data(benchmark::State& state, const Recipe& recipe) {
  const Setup setup(recipe, state.range(0));
  int64_t number = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(setup.task->batch(Purpose::kTraining, number++, state.range(0)));
  }
}

void forward_pass(benchmark::State& state, const Recipe& recipe) {
  const Setup setup(recipe, state.range(0));
  const model::ModelSpec spec = setup.task->spec();
  const Parameters parameters(spec, setup.options);
  const Batch batch = setup.task->batch(Purpose::kTraining, 0, state.range(0));
  for (auto _ : state) {
    const Outputs outputs = run_network(spec, parameters, batch);
    benchmark::DoNotOptimize(mean_loss(batch, token_losses(batch, outputs.result)));
  }
}

void backward_pass(benchmark::State& state, const Recipe& recipe) {
  const Setup setup(recipe, state.range(0));
  const model::ModelSpec spec = setup.task->spec();
  const Parameters parameters(spec, setup.options);
  const Batch batch = setup.task->batch(Purpose::kTraining, 0, state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    const Outputs outputs = run_network(spec, parameters, batch);
    const at::Tensor loss = mean_loss(batch, token_losses(batch, outputs.result));
    state.ResumeTiming();
    loss.backward();
  }
}

void optimiser(benchmark::State& state, const Recipe& recipe) {
  const Setup setup(recipe, state.range(0));
  const Parameters parameters(setup.task->spec(), setup.options);
  Optimiser optimiser(setup.options.optimiser, parameters.count());
  int64_t number = 0;
  for (auto _ : state) {
    optimiser.step(parameters.values(), parameters.gradients(), number++, setup.options.steps);
  }
}

// CPU is the time of all threads: on a machine that others use too it is the steadier number.
void settings(benchmark::internal::Benchmark* b) {
  b->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);
}

#define PARTS(recipe, sizes)                                                \
  BENCHMARK_CAPTURE(step, recipe, recipe)->sizes->Apply(settings);          \
  BENCHMARK_CAPTURE(data, recipe, recipe)->sizes->Apply(settings);          \
  BENCHMARK_CAPTURE(forward_pass, recipe, recipe)->sizes->Apply(settings);  \
  BENCHMARK_CAPTURE(backward_pass, recipe, recipe)->sizes->Apply(settings); \
  BENCHMARK_CAPTURE(optimiser, recipe, recipe)->sizes->Apply(settings)

PARTS(kDamping, Arg(256)->Arg(1024));
PARTS(kBroadcast, Arg(256)->Arg(1024));
PARTS(kBackcopy, Arg(64));
PARTS(kPaperBackcopy, Arg(16));

}  // namespace
}  // namespace sinkscope::train
