#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "sinkscope/stats/range_values.h"

namespace sinkscope::stats {

/// Adds further rows x [rows, width], row-major, to the range of a site.
void add_range(const float* x, int64_t rows, int64_t width, SiteRange& range);

/// Largest |x| of each row, appended to `largest`.
void add_row_largest(const float* x, int64_t rows, int64_t width, std::vector<double>& largest);

/// RangeValues::bfloat16_error and half_error of x [T, D].
struct RoundingErrors {
  double bfloat16, half;
};
RoundingErrors rounding_errors(const at::Tensor& x);

/// x [T, D] rounded to int8 with one scale, and the bits lost by z, whose tokens have the largest
/// entries `normed` [T]. Positions outside 0..T-1 are ignored. NaN where no token is left or all
/// that are left are zero.
Int8Values int8_values(const at::Tensor& x, std::span<const double> normed,
                       std::span<const int64_t> sinks);

}  // namespace sinkscope::stats
