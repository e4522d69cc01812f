// Attention of 9 query heads on 3 key/value heads of width 64, causal. Every line is repeated; read
// the least time on a machine that others use, the median on a quiet one (FLOP/s of a `min` line is
// that of the slowest repetition). Beside the kernels: a matrix product of this LibTorch (the
// limit), its own attention, and plain matmul, softmax, matmul. LibTorch's two make T x T tensors
// here, so they stop at 2048 tokens.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_scaled_dot_product_attention.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sinkscope/forward/kernels/attention.h"

namespace {

using sinkscope::forward::AttentionSums;
namespace kernels = sinkscope::forward::kernels;

constexpr int64_t kHeads = 9, kKvHeads = 3, kWidth = 64;

double smallest(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

void count_flops(benchmark::State& state, double flops) {
  state.counters["FLOP/s"] =
      benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}

double causal_flops(int64_t tokens) {
  const auto t = static_cast<double>(tokens);
  return 4 * kWidth * t * (t + 1) / 2 * kHeads;
}

struct Tensors {
  explicit Tensors(int64_t tokens)
      : q(at::randn({tokens, kHeads, kWidth})),
        k(at::randn({tokens, kKvHeads, kWidth})),
        v(at::randn({tokens, kKvHeads, kWidth})) {}

  /// [1, H, T, K], the groups repeated: LibTorch's attention knows no grouped heads.
  static at::Tensor by_head(const at::Tensor& x) {
    return x.transpose(0, 1).repeat_interleave(kHeads / x.size(1), 0).contiguous().unsqueeze(0);
  }

  at::Tensor q, k, v;
};

void run_kernel(benchmark::State& state, kernels::AttentionKernel kernel) {
  const int64_t tokens = state.range(0);
  const bool statistics = state.range(1) != 0;
  const Tensors input(tokens);
  at::Tensor out = at::randn({tokens, kHeads, kWidth});
  std::vector<AttentionSums> sums(kHeads);
  kernels::AttentionProblem p;
  p.tokens = tokens, p.heads = kHeads, p.kv_heads = kKvHeads, p.width = kWidth;
  p.q = input.q.data_ptr<float>(), p.k = input.k.data_ptr<float>();
  p.v = input.v.data_ptr<float>(), p.out = out.data_ptr<float>();
  p.q_stride = p.out_stride = kHeads * kWidth;
  p.k_stride = p.v_stride = kKvHeads * kWidth;
  p.scale = 1 / std::sqrt(static_cast<float>(kWidth));
  if (statistics) p.sums = sums.data();
  for (auto _ : state) {
    // Part of the price of statistics, so inside the timing.
    if (statistics) {
      for (AttentionSums& s : sums) s.resize(tokens, false);
    }
    kernel(&p, 1, at::get_num_threads());
  }
  count_flops(state, causal_flops(tokens));
}

void cpu(benchmark::State& state) { run_kernel(state, kernels::attention_cpu); }
void aten(benchmark::State& state) { run_kernel(state, kernels::attention_aten); }

void torch_eager(benchmark::State& state) {
  const int64_t tokens = state.range(0);
  const Tensors input(tokens);
  const at::Tensor q = Tensors::by_head(input.q), k = Tensors::by_head(input.k);
  const at::Tensor v = Tensors::by_head(input.v);
  const at::Tensor mask =
      at::full({tokens, tokens}, -std::numeric_limits<double>::infinity()).triu_(1);
  for (auto _ : state) {
    const at::Tensor logits = at::matmul(q, k.transpose(-2, -1)) * (1 / std::sqrt(kWidth * 1.0));
    benchmark::DoNotOptimize(at::matmul((logits + mask).softmax(-1), v).data_ptr());
  }
  count_flops(state, causal_flops(tokens));
}

void torch_attention(benchmark::State& state) {
  const int64_t tokens = state.range(0);
  const Tensors input(tokens);
  const at::Tensor q = Tensors::by_head(input.q), k = Tensors::by_head(input.k);
  const at::Tensor v = Tensors::by_head(input.v);
  for (auto _ : state) {
    const auto result =
        at::_scaled_dot_product_attention(q, k, v, /*attn_mask=*/{}, /*dropout_p=*/0,
                                          /*need_attn_weights=*/false,
                                          /*is_causal=*/true);
    benchmark::DoNotOptimize(std::get<0>(result).data_ptr());
  }
  count_flops(state, causal_flops(tokens));
}

void matrix_product(benchmark::State& state) {
  const int64_t n = state.range(0);
  const at::Tensor a = at::randn({n, n}), b = at::randn({n, n});
  at::Tensor c = at::randn({n, n});
  for (auto _ : state) at::matmul_out(c, a, b);
  count_flops(state, 2.0 * static_cast<double>(n) * n * n);
}

void measure(benchmark::internal::Benchmark* bench) {
  bench->Unit(benchmark::kMillisecond)->UseRealTime()->Repetitions(7);
  bench->ComputeStatistics("min", smallest)->ReportAggregatesOnly();
}

void lengths(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"T", "statistics"})->ArgsProduct({{64, 512, 1024, 2048, 8192}, {0, 1}});
  measure(bench);
}

void short_lengths(benchmark::internal::Benchmark* bench) {
  bench->ArgName("T")->Arg(64)->Arg(512)->Arg(1024)->Arg(2048);
  measure(bench);
}

BENCHMARK(matrix_product)->ArgName("n")->Arg(1024)->Apply(measure);
BENCHMARK(cpu)->Apply(lengths);
BENCHMARK(aten)->Apply(lengths);
BENCHMARK(torch_eager)->Apply(short_lengths);
BENCHMARK(torch_attention)->Apply(short_lengths);

}  // namespace
