#include "sinkscope/forward/runner.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <thread>

#include "sinkscope/base/error.h"
#include "sinkscope/forward/kernels/linear.h"
#include "sinkscope/forward/pass/pass.h"
#include "sinkscope/model/weight_shapes.h"

namespace sinkscope::forward {

Runner::Runner(const model::Model& model, RunOptions options)
    : model_(model), options_(std::move(options)) {
  kernels::prepare_process();
  // Set in any case, and after that: a LibTorch built against OpenBLAS starts with one thread.
  if (options_.threads <= 0)
    options_.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  at::set_num_threads(options_.threads);
}

void Runner::run(std::span<const Stream> streams, std::span<const Fork> forks,
                 std::span<Observer* const> observers) {
  const c10::NoGradGuard no_grad;
  try {
    Pass(model_, options_, streams, forks, observers).run();
  } catch (const c10::Error& error) {
    throw Error(ErrorKind::kInternal, "run the model", error.what_without_backtrace());
  }
}

int64_t Runner::planned_bytes(std::span<const int64_t> lengths) const {
  const model::ModelSpec& spec = model_.spec();
  int64_t rows = 0;
  for (const int64_t length : lengths) rows += length;
  const int64_t chunk = std::min(rows, options_.chunk_rows);
  const int64_t inner = std::max(spec.mlp_width, spec.experts.width);
  const int64_t up = inner * (spec.gated_mlp ? 2 : 1);
  int64_t per_row = spec.width * (spec.experts.count > 0 ? 3 : 1) + spec.qkv_width() +
                    spec.query_width();  // resid and the experts' inputs and sums, qkv, z
  if (spec.positions == model::Positions::kFirstNorm) per_row += spec.width;
  if (spec.output_gate != model::Gate::kNone) {
    per_row += model::length(spec, model::Dim::kOutputGate);
  }
  if (spec.pathway > 0) per_row += 2 * spec.width + spec.pathway;
  const int64_t sums = spec.heads * 40;  // AttentionSums, bytes per row
  const int64_t work = chunk * (2 * up + inner + 4 * spec.width) * 4;
  const int64_t head = spec.is_vision() || spec.vectors
                           ? 0
                           : (spec.vocabulary * spec.width + 3 * chunk * spec.vocabulary) * 4;
  const int64_t block = model_.weights().largest_block_bytes() / (options_.bfloat16 ? 2 : 1);
  return rows * (per_row * 4 + sums) + std::max(block + work, head);
}

}  // namespace sinkscope::forward
