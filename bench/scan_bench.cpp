// The forward pass of a real model with and without statistics: what they cost. The model is a file
// named in SINKSCOPE_BENCH_MODEL (make bench: SmolLM2); ids are the same for both.

#include <benchmark/benchmark.h>

#include <cstdlib>

#include "sinkscope/app/measure.h"
#include "sinkscope/diagnostics/summary.h"
#include "sinkscope/forward/runner.h"

namespace sinkscope {
namespace {

/// Wants the logits, as a plain forward pass makes them, and nothing else.
class OnlyLogits : public forward::Observer {
 public:
  bool wants(forward::Tap tap, int) const override { return tap == forward::Tap::kLogits; }
  bool wants_sums(int) const override { return false; }
};

void forward_pass(benchmark::State& state, bool statistics, bool bfloat16) {
  const char* file = std::getenv("SINKSCOPE_BENCH_MODEL");
  if (!file) {
    state.SkipWithError("SINKSCOPE_BENCH_MODEL names no model");
    return;
  }
  const auto model = model::Model::open(file);
  store::SequenceInfo sequence;
  for (int64_t i = 0; i < state.range(0); ++i) {
    sequence.ids.push_back(static_cast<int32_t>((i * 7919 + 13) % model->spec().vocabulary));
  }
  const forward::Stream stream{sequence.ids};
  forward::RunOptions options;
  options.threads = 2;
  options.bfloat16 = bfloat16;
  forward::Runner runner(*model, options);
  app::MeasureOptions measure_options;
  measure_options.diagnostics = diagnostics::select_diagnostics({});
  for (int l = 0; l < static_cast<int>(model->spec().layers); ++l) measure_options.layers.insert(l);
  const store::SequenceInfo* sequences[] = {&sequence};
  for (auto _ : state) {
    OnlyLogits logits;
    app::Measure measure(model->spec(), measure_options, sequences);
    forward::Observer* observer = statistics ? static_cast<forward::Observer*>(&measure) : &logits;
    runner.run({&stream, 1}, {&observer, 1});
    if (statistics) measure.finish();
  }
  state.counters["tokens/s"] = benchmark::Counter(static_cast<double>(state.range(0)),
                                                  benchmark::Counter::kIsIterationInvariantRate);
}

void plain(benchmark::State& state) { forward_pass(state, false, false); }
void with_statistics(benchmark::State& state) { forward_pass(state, true, false); }
void with_statistics_bf16(benchmark::State& state) { forward_pass(state, true, true); }

BENCHMARK(plain)
    ->Arg(64)
    ->Arg(512)
    ->Arg(1024)
    ->Arg(2048)
    ->Arg(8192)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(with_statistics)
    ->Arg(64)
    ->Arg(512)
    ->Arg(1024)
    ->Arg(2048)
    ->Arg(8192)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(with_statistics_bf16)->Arg(1024)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace sinkscope
