#include "sinkscope/stats/hidden_state.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace sinkscope::stats {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kMostLarge = 4096;

/// Exact order statistic `rank` (from 0) of |x|. The upper 16 bits of a float's pattern order its
/// magnitudes coarsely: one counting pass finds the bin of the answer, a second gathers that bin,
/// which is far cheaper than a selection over all entries.
double magnitude_of_rank(const float* x, int64_t count, int64_t rank, const std::vector<uint32_t>& histogram) {
  int64_t below = 0;
  uint32_t bin = 0;
  while (below + histogram[bin] <= rank) below += histogram[bin++];
  std::vector<float> members;
  members.reserve(histogram[bin]);
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(x[i]) & 0x7FFFFFFFu;
    if (bits >> 16 == bin) members.push_back(std::bit_cast<float>(bits));
  }
  const auto place = members.begin() + static_cast<std::ptrdiff_t>(rank - below);
  std::nth_element(members.begin(), place, members.end());
  return *place;
}

double median_magnitude(const float* x, int64_t count) {
  std::vector<uint32_t> histogram(1 << 15);
  for (int64_t i = 0; i < count; ++i) ++histogram[(std::bit_cast<uint32_t>(x[i]) & 0x7FFFFFFFu) >> 16];
  const double upper = magnitude_of_rank(x, count, count / 2, histogram);
  if (count % 2 != 0) return upper;
  return (upper + magnitude_of_rank(x, count, count / 2 - 1, histogram)) / 2;
}

void keep_top(std::array<TopActivation, 3>& top, const TopActivation& candidate) {
  // Strictly larger only: entries come by position, then channel, so that ties keep the first.
  for (size_t i = 0; i < top.size(); ++i) {
    if (std::abs(candidate.value) <= std::abs(top[i].value)) continue;
    std::move_backward(top.begin() + static_cast<std::ptrdiff_t>(i), top.end() - 1, top.end());
    top[i] = candidate;
    return;
  }
}

}  // namespace

double length(const float* row, int64_t width) {
  // Four sums: one alone waits for its own last addition.
  double sum[4] = {};
  int64_t c = 0;
  for (; c + 4 <= width; c += 4) {
    for (int64_t i = 0; i < 4; ++i) sum[i] += static_cast<double>(row[c + i]) * row[c + i];
  }
  for (; c < width; ++c) sum[0] += static_cast<double>(row[c]) * row[c];
  return std::sqrt(sum[0] + sum[1] + sum[2] + sum[3]);
}

ResidualValues residual_values(const float* x, int64_t tokens, int64_t width, double large_floor) {
  ResidualValues values;
  values.norm.resize(static_cast<size_t>(tokens));
  const auto floor = static_cast<float>(large_floor);
  for (int64_t t = 0; t < tokens; ++t) {
    const float* row = x + t * width;
    values.norm[static_cast<size_t>(t)] = length(row, width);
    for (int64_t c = 0; c < width; ++c) {
      const float magnitude = std::abs(row[c]);
      if (magnitude > floor) {
        values.large_count += 1;
        if (values.large_count <= kMostLarge) values.large.push_back({c, t, row[c]});
      }
      if (magnitude > std::abs(values.top[2].value)) keep_top(values.top, {c, t, row[c]});
    }
  }
  values.median_abs = median_magnitude(x, tokens * width);
  return values;
}

Similarity::Similarity(int64_t width) : width_(width), unit_sum_(static_cast<size_t>(width)) {}

void Similarity::add(const float* z, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r, z += width_) {
    const double norm = length(z, width_);
    const double scale = norm > 0 ? 1 / norm : 0;
    zero_rows_ += norm == 0;
    if (first_.empty()) {
      first_.resize(static_cast<size_t>(width_));
      for (int64_t c = 0; c < width_; ++c) first_[static_cast<size_t>(c)] = z[c] * scale;
    }
    double cosine = 0;
    for (int64_t c = 0; c < width_; ++c) {
      const double unit = z[c] * scale;
      cosine += unit * first_[static_cast<size_t>(c)];
      unit_sum_[static_cast<size_t>(c)] += unit;
    }
    cosines_.push_back(cosine);
    ++rows_;
  }
}

Similarity Similarity::start_from() const {
  Similarity later(width_);
  later.first_ = first_;
  return later;
}

void Similarity::merge(const Similarity& other) {
  if (first_.empty()) first_ = other.first_;
  for (size_t c = 0; c < unit_sum_.size(); ++c) unit_sum_[c] += other.unit_sum_[c];
  cosines_.insert(cosines_.end(), other.cosines_.begin(), other.cosines_.end());
  rows_ += other.rows_;
  zero_rows_ += other.zero_rows_;
}

SimilarityValues Similarity::value() const {
  SimilarityValues values;
  values.cos_first = cosines_;
  const auto pair_mean = [](double sum_square, int64_t n, int64_t zero) {
    if (n < 2) return kNaN;
    const auto count = static_cast<double>(n);
    return (sum_square - static_cast<double>(n - zero)) / (count * (count - 1));
  };
  double all = 0, rest = 0;
  for (size_t c = 0; c < unit_sum_.size(); ++c) {
    all += unit_sum_[c] * unit_sum_[c];
    const double without = unit_sum_[c] - (first_.empty() ? 0 : first_[c]);
    rest += without * without;
  }
  const bool zero_first = !cosines_.empty() && cosines_[0] == 0;
  values.pair_mean = pair_mean(all, rows_, zero_rows_);
  values.pair_mean_rest = pair_mean(rest, rows_ - 1, zero_rows_ - zero_first);
  return values;
}

}  // namespace sinkscope::stats
