#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace sinkscope::train {

/// What random numbers are for. Each purpose of a seed has numbers of its own, so that a change of
/// one (more evaluation sequences, another variant) leaves the others as they are.
enum class Purpose : uint64_t {
  kTask = 1,    ///< what a task holds fixed: its vectors, its table
  kParameters,  ///< initial values, by parameter
  kTraining,    ///< batches, by step
  kEvaluation,  ///< batches that are measured, by number
};

/// Element i depends on `key` and i alone, not on the shape, the thread count or numbers drawn
/// before: batch n is made without those before it, which is what makes resuming exact.
/// float32, in (0, 1], 24 bits each.
at::Tensor uniform(uint64_t key, at::IntArrayRef shape);
/// float32 standard normal (Box and Muller, Annals of Mathematical Statistics 29, 1958).
at::Tensor normal(uint64_t key, at::IntArrayRef shape);

}  // namespace sinkscope::train
