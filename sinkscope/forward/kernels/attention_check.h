#pragma once

#include "sinkscope/forward/kernels/attention.h"

namespace sinkscope::forward::kernels {

/// Throws Error{kInternal} when a problem contradicts itself: sizes, null pointers, strides, or
/// sums of another length. Every kernel asks first, so a caller's bug is a message and not a wild
/// write.
void check_problem(const AttentionProblem& problem);

}  // namespace sinkscope::forward::kernels
