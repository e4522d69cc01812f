// The linear layers at the shapes of SmolLM2-135M: the machine's practical GEMM limit, and how near
// our entry to oneDNN comes to it.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include "sinkscope/forward/kernels/linear.h"

namespace sinkscope {
namespace {

struct Operands {
  explicit Operands(benchmark::State& state, at::ScalarType type = at::kFloat)
      : x(at::randn({state.range(0), state.range(2)})),
        weight(at::randn({state.range(1), state.range(2)}).to(type)) {
    forward::kernels::prepare_process();
    at::set_num_threads(2);
  }
  at::Tensor x, weight;
};

void count(benchmark::State& state) {
  const double flops = 2.0 * static_cast<double>(state.range(0) * state.range(1) * state.range(2));
  state.counters["GFLOP/s"] =
      benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void ours(benchmark::State& state) {
  Operands o(state);
  for (auto _ : state) benchmark::DoNotOptimize(forward::kernels::linear(o.x, o.weight, {}));
  count(state);
}
void ours_bf16(benchmark::State& state) {
  Operands o(state, at::kBFloat16);
  for (auto _ : state) benchmark::DoNotOptimize(forward::kernels::linear(o.x, o.weight, {}));
  count(state);
}
void at_linear(benchmark::State& state) {
  Operands o(state);
  for (auto _ : state) benchmark::DoNotOptimize(at::linear(o.x, o.weight));
  count(state);
}

void shapes(benchmark::internal::Benchmark* b) {
  for (const int64_t rows : {256, 512, 1024}) {
    b->Args({rows, 960, 576})
        ->Args({rows, 576, 576})
        ->Args({rows, 3072, 576})
        ->Args({rows, 576, 1536});
  }
  b->ArgNames({"rows", "out", "in"})->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK(ours)->Apply(shapes);
BENCHMARK(at_linear)->Apply(shapes);
BENCHMARK(ours_bf16)
    ->Args({512, 3072, 576})
    ->ArgNames({"rows", "out", "in"})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sinkscope
