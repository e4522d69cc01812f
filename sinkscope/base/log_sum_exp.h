#pragma once

#include <cstdint>

namespace sinkscope {

/// log(sum_i exp(x_i)) of `count` floats, the maximum subtracted; partial sums of float vectors,
/// the total in double. Highway, best instruction set at run time. -inf for no entries.
double log_sum_exp(const float* x, int64_t count);

}  // namespace sinkscope
