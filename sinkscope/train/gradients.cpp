#include "sinkscope/train/gradients.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "sinkscope/train/kernels/functions.h"

namespace sinkscope::train {
namespace {

// Enough for sixteen threads; each costs one vector of gradients. Small batches have fewer.
constexpr int64_t kMostLanes = 16, kLeastLaneTokens = 1024;
// Rows of a slice: at a width of 64 half a dozen activations fit a second-level cache, and the
// overhead of an operation (microseconds) is still small beside its work.
constexpr int64_t kSliceTokens = 2048;
constexpr int64_t kGrain = 1 << 13;

/// Share of each token in the mean over the counted ones. [B, T]
at::Tensor token_weights(const Batch& batch, bool skip_first) {
  at::Tensor counted = batch.kinds.ne(kNotCounted).to(at::kFloat);
  if (skip_first) counted.select(1, 0).zero_();
  return counted / counted.sum();
}

Batch slice_of(const Batch& batch, int64_t first, int64_t count) {
  const auto cut = [&](const at::Tensor& x) { return x.defined() ? x.narrow(0, first, count) : x; };
  return {cut(batch.vectors), cut(batch.ids), cut(batch.target), cut(batch.kinds), cut(batch.keys)};
}

}  // namespace

Gradients::Gradients(const model::ModelSpec& spec, const Parameters& parameters)
    : spec_(spec), parameters_(parameters) {}

Gradients::Slice Gradients::forward(int64_t lane, const Batch& slice, const at::Tensor& weights,
                                    bool penalty) const {
  const Outputs outputs = run_network(spec_, lanes_[static_cast<size_t>(lane)], slice);
  const at::Tensor objective =
      slice.vectors.defined()
          ? kernels::weighted_squared_error(outputs.result, slice.target, weights)
          : (token_losses(slice, outputs.result) * weights).sum();
  return {objective, penalty ? common_mode_energies(outputs) : at::Tensor()};
}

Gradients::Losses Gradients::run(const Batch& batch, const TrainerOptions& options) {
  std::vector<std::vector<Slice>> lanes = run_lanes(batch, options);
  Losses losses;
  for (const std::vector<Slice>& lane : lanes) {
    for (const Slice& slice : lane) losses.task += slice.objective.item<double>();
  }
  if (options.penalty > 0) {
    losses.penalty = finish_with_penalty(lanes, options.penalty, batch.kinds.size(0));
  }
  sum_lanes(lanes.size());
  return losses;
}

std::vector<std::vector<Gradients::Slice>> Gradients::run_lanes(const Batch& batch,
                                                                const TrainerOptions& options) {
  const bool penalty = options.penalty > 0;
  const int64_t sequences = batch.kinds.size(0), tokens = batch.kinds.size(1),
                lane_length = std::max((sequences + kMostLanes - 1) / kMostLanes,
                                       std::max<int64_t>(1, kLeastLaneTokens / tokens)),
                slice_length = std::max<int64_t>(1, kSliceTokens / tokens);
  const at::Tensor weights = token_weights(batch, options.skip_first_loss);
  std::vector<std::vector<Slice>> lanes(
      static_cast<size_t>((sequences + lane_length - 1) / lane_length));
  while (lanes_.size() < lanes.size()) lanes_.push_back(parameters_.with_own_gradients());
  at::parallel_for(0, std::ssize(lanes), 1, [&](int64_t begin, int64_t end) {
    for (int64_t lane = begin; lane < end; ++lane) {
      lanes_[static_cast<size_t>(lane)].gradients().zero_();
      const int64_t last = std::min(sequences, (lane + 1) * lane_length);
      for (int64_t first = lane * lane_length; first < last; first += slice_length) {
        const int64_t count = std::min(slice_length, last - first);
        Slice slice =
            forward(lane, slice_of(batch, first, count), weights.narrow(0, first, count), penalty);
        if (!penalty) {
          slice.objective.backward();
          slice.objective = slice.objective.detach();
        }
        lanes[static_cast<size_t>(lane)].push_back(std::move(slice));
      }
    }
  });
  return lanes;
}

double Gradients::finish_with_penalty(std::vector<std::vector<Slice>>& lanes, double factor,
                                      int64_t sequences) const {
  const double share = 1 / static_cast<double>(sequences);
  at::Tensor energies = at::zeros({spec_.layers, 2}, at::kFloat);
  for (const std::vector<Slice>& lane : lanes) {
    for (const Slice& slice : lane) energies += slice.energies.detach() * share;
  }
  energies.requires_grad_(true);
  const at::Tensor penalty = common_mode_penalty(energies);
  penalty.backward();
  const at::Tensor slope = energies.grad() * (factor * share);
  at::parallel_for(0, std::ssize(lanes), 1, [&](int64_t begin, int64_t end) {
    for (int64_t lane = begin; lane < end; ++lane) {
      for (Slice& slice : lanes[static_cast<size_t>(lane)]) {
        (slice.objective + (slice.energies * slope).sum()).backward();
        slice = {};  // its graph
      }
    }
  });
  return penalty.item<double>();
}

void Gradients::sum_lanes(size_t count) const {
  float* sum = parameters_.gradients().data_ptr<float>();
  std::vector<const float*> lanes;
  for (size_t lane = 0; lane < count; ++lane) {
    lanes.push_back(lanes_[lane].gradients().data_ptr<float>());
  }
  at::parallel_for(0, parameters_.count(), kGrain, [&](int64_t begin, int64_t end) {
    std::copy(lanes[0] + begin, lanes[0] + end, sum + begin);
    for (size_t lane = 1; lane < lanes.size(); ++lane) {
      for (int64_t i = begin; i < end; ++i) sum[i] += lanes[lane][i];
    }
  });
}

}  // namespace sinkscope::train
