#include "sinkscope/stats/range.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace sinkscope::stats {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInt8Max = 127;

/// Bits of the largest |x| of a row: their order is that of the magnitudes, and a maximum of
/// integers is vectorised.
int32_t largest_bits(const float* row, int64_t width) {
  int32_t largest = 0;
  for (int64_t c = 0; c < width; ++c) {
    largest = std::max(largest, std::bit_cast<int32_t>(row[c]) & 0x7FFFFFFF);
  }
  return largest;
}

float magnitude(int32_t bits) { return std::bit_cast<float>(bits); }

struct Squares {
  double error = 0, own = 0;
};

void add_squares(const float* rounded, const float* x, int64_t count, Squares& squares) {
  for (int64_t i = 0; i < count; ++i) {
    const double own = x[i], error = rounded[i] - own;
    squares.error += error * error, squares.own += own * own;
  }
}

/// Mean over rows of ||rounded - x|| / ||x||.
double mean_error(const at::Tensor& x, const at::Tensor& rounded) {
  const int64_t width = x.size(1);
  double sum = 0;
  int64_t rows = 0;
  for (int64_t r = 0; r < x.size(0); ++r) {
    Squares squares;
    add_squares(rounded.data_ptr<float>() + r * width, x.data_ptr<float>() + r * width, width,
                squares);
    if (squares.own == 0) continue;
    sum += std::sqrt(squares.error / squares.own), ++rows;
  }
  return rows == 0 ? kNaN : sum / static_cast<double>(rows);
}

/// ||Q(x) - x|| / ||x|| with one step for all entries.
double int8_error(const at::Tensor& x, double step) {
  const at::Tensor rounded = at::round(x / step).clamp_(-kInt8Max, kInt8Max).mul_(step);
  Squares squares;
  add_squares(rounded.data_ptr<float>(), x.data_ptr<float>(), x.numel(), squares);
  return std::sqrt(squares.error / squares.own);
}

/// The largest entry of all tokens and of those that are no sinks.
struct Largest {
  double all = 0, rest = 0;
  double bits() const { return rest > 0 ? std::log2(all / rest) : kNaN; }
};

std::vector<bool> mark(std::span<const int64_t> sinks, size_t tokens) {
  std::vector<bool> marked(tokens, false);
  for (const int64_t s : sinks) {
    if (s >= 0 && s < static_cast<int64_t>(tokens)) marked[static_cast<size_t>(s)] = true;
  }
  return marked;
}

Largest largest_of(std::span<const double> tokens, const std::vector<bool>& marked) {
  Largest largest;
  for (size_t t = 0; t < tokens.size(); ++t) {
    largest.all = std::max(largest.all, tokens[t]);
    if (!marked[t]) largest.rest = std::max(largest.rest, tokens[t]);
  }
  return largest;
}

}  // namespace

void add_range(const float* x, int64_t rows, int64_t width, SiteRange& range) {
  for (int64_t r = 0; r < rows; ++r, x += width) {
    const float largest = magnitude(largest_bits(x, width));
    if (!(largest <= range.largest)) {  // also where there was none
      range.largest = largest;
      range.channel =
          std::find_if(x, x + width, [&](float v) { return std::abs(v) == largest; }) - x;
    }
    if (largest <= kHalfMax) continue;
    range.beyond_half +=
        std::count_if(x, x + width, [](float v) { return std::abs(v) > kHalfMax; });
  }
}

void add_row_largest(const float* x, int64_t rows, int64_t width, std::vector<double>& largest) {
  for (int64_t r = 0; r < rows; ++r, x += width) {
    largest.push_back(magnitude(largest_bits(x, width)));
  }
}

RoundingErrors rounding_errors(const at::Tensor& x) {
  const at::Tensor bfloat = x.to(at::kBFloat16).to(at::kFloat);
  const at::Tensor half = x.clamp(-kHalfMax, kHalfMax).to(at::kHalf).to(at::kFloat);
  return {mean_error(x, bfloat), mean_error(x, half)};
}

Int8Values int8_values(const at::Tensor& x, std::span<const double> normed,
                       std::span<const int64_t> sinks) {
  const at::Tensor rows = x.contiguous();
  std::vector<double> largest;
  add_row_largest(rows.data_ptr<float>(), rows.size(0), rows.size(1), largest);
  const std::vector<bool> marked = mark(sinks, largest.size());
  const Largest range = largest_of(largest, marked);
  Int8Values values;
  values.bits_lost_normed = largest_of(normed, marked).bits();
  values.bits_lost = range.bits();
  if (std::isnan(values.bits_lost)) return values;
  std::vector<int64_t> kept;
  for (size_t t = 0; t < marked.size(); ++t) {
    if (!marked[t]) kept.push_back(static_cast<int64_t>(t));
  }
  const at::Tensor others =
      kept.size() == marked.size() ? rows : rows.index_select(0, at::tensor(kept));
  values.error_without = int8_error(others, range.rest / kInt8Max);
  values.error =
      range.all == range.rest ? values.error_without : int8_error(others, range.all / kInt8Max);
  return values;
}

}  // namespace sinkscope::stats
