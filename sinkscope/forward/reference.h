#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "sinkscope/forward/stream.h"
#include "sinkscope/model/model.h"

namespace sinkscope::forward {

/// Every tap of one sequence by its full name ("blocks.0.attn.hook_pattern", ...), whole tensors.
using Taps = std::map<std::string, at::Tensor>;

/// The slow, clear forward pass that judges the fast one: plain ATen formulas in `type` (double, or
/// float to measure the noise floor), patterns held whole, so only for short sequences (memory
/// H T^2 per layer). Shares with the fast path the reading of weights, the facts of the family, the
/// rule of attention patterns that maps are made by, and the readout of pooled states.
Taps run_reference(const model::Model& model, const Stream& stream, at::ScalarType type);

}  // namespace sinkscope::forward
