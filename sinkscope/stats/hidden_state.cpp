#include "sinkscope/stats/hidden_state.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace sinkscope::stats {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kMostLarge = 4096;
constexpr int64_t kPartRows = 256;  // fixed, so that no sum depends on the number of threads
constexpr size_t kBins = size_t{1} << 15;

uint32_t magnitude_bits(float x) { return std::bit_cast<uint32_t>(x) & 0x7FFFFFFFu; }

/// Exact order statistic `rank` (from 0) of the magnitudes in one bin of the histogram.
double select(std::vector<float>& members, int64_t rank) {
  const auto place = members.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(members.begin(), place, members.end());
  return *place;
}

/// Exact median of |x|. The upper 16 bits of a float's pattern order magnitudes coarsely: the
/// counts say which bin holds the middle, and only that bin is gathered, which is far cheaper than
/// a selection over all entries.
double median_magnitude(const float* x, int64_t count, const std::vector<uint32_t>& histogram) {
  const int64_t upper = count / 2, lower = count % 2 != 0 ? upper : upper - 1;
  const auto bin_of = [&](int64_t rank, int64_t& below) {
    uint32_t bin = 0;
    for (below = 0; below + histogram[bin] <= rank; ++bin) below += histogram[bin];
    return bin;
  };
  int64_t below_upper = 0, below_lower = 0;
  const uint32_t upper_bin = bin_of(upper, below_upper), lower_bin = bin_of(lower, below_lower);
  constexpr int64_t kPart = int64_t{1} << 17;
  std::vector<std::vector<float>> parts(static_cast<size_t>((count + kPart - 1) / kPart));
  at::parallel_for(0, static_cast<int64_t>(parts.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * kPart; i < std::min(count, end * kPart); ++i) {
      const uint32_t bits = magnitude_bits(x[i]), bin = bits >> 16;
      if (bin == upper_bin || bin == lower_bin)
        parts[static_cast<size_t>(i / kPart)].push_back(std::bit_cast<float>(bits));
    }
  });
  // Where the two middle ranks lie in different bins, all of the lower bin's members come first.
  std::vector<float> members;
  for (const std::vector<float>& part : parts)
    members.insert(members.end(), part.begin(), part.end());
  const double high =
      select(members, upper - below_upper + (lower_bin == upper_bin ? 0 : histogram[lower_bin]));
  const double low = select(members, lower - below_lower);
  return (high + low) / 2;
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

namespace {

/// What rows [first, last) of the state add to its values; parts are joined in order.
struct Part {
  std::array<TopActivation, 3> top{};
  std::vector<TopActivation> large;
  int64_t large_count = 0;
  std::vector<uint32_t> histogram = std::vector<uint32_t>(kBins);
};

void read_rows(const float* x, int64_t first, int64_t last, int64_t width, float floor,
               double* norms, Part& part) {
  for (int64_t t = first; t < last; ++t) {
    const float* row = x + t * width;
    norms[t] = length(row, width);
    for (int64_t c = 0; c < width; ++c) {
      const uint32_t bits = magnitude_bits(row[c]);
      ++part.histogram[bits >> 16];
      const float magnitude = std::bit_cast<float>(bits);
      if (magnitude > std::abs(part.top[2].value)) keep_top(part.top, {c, t, row[c]});
      if (magnitude > floor) {
        part.large_count += 1;
        if (part.large_count <= kMostLarge) part.large.push_back({c, t, row[c]});
      }
    }
  }
}

}  // namespace

ResidualValues residual_values(const float* x, int64_t tokens, int64_t width, double large_floor) {
  ResidualValues values;
  values.norm.resize(static_cast<size_t>(tokens));
  std::vector<Part> parts(static_cast<size_t>((tokens + kPartRows - 1) / kPartRows));
  at::parallel_for(0, static_cast<int64_t>(parts.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      read_rows(x, p * kPartRows, std::min(tokens, (p + 1) * kPartRows), width,
                static_cast<float>(large_floor), values.norm.data(), parts[static_cast<size_t>(p)]);
    }
  });
  std::vector<uint32_t> histogram(kBins);
  for (const Part& part : parts) {
    for (const TopActivation& entry : part.top) keep_top(values.top, entry);
    for (const TopActivation& entry : part.large) {
      if (std::ssize(values.large) < kMostLarge) values.large.push_back(entry);
    }
    values.large_count += part.large_count;
    for (size_t bin = 0; bin < kBins; ++bin) histogram[bin] += part.histogram[bin];
  }
  values.median_abs = median_magnitude(x, tokens * width, histogram);
  return values;
}

Similarity::Similarity(int64_t width) : width_(width), unit_sum_(static_cast<size_t>(width)) {}

void Similarity::add(const float* z, int64_t rows) {
  if (first_.empty() && rows > 0) {
    add_rows(z, 1);  // token 0, with which all later rows are compared
    z += width_, rows -= 1;
  }
  std::vector<Similarity> parts(static_cast<size_t>((rows + kPartRows - 1) / kPartRows),
                                start_from());
  at::parallel_for(0, static_cast<int64_t>(parts.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      parts[static_cast<size_t>(p)].add_rows(z + p * kPartRows * width_,
                                             std::min(kPartRows, rows - p * kPartRows));
    }
  });
  for (const Similarity& part : parts) merge(part);
}

void Similarity::add_rows(const float* z, int64_t rows) {
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
