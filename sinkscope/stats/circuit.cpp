#include "sinkscope/stats/circuit.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>

#include "sinkscope/stats/hidden_state.h"
#include "sinkscope/theory/cone.h"

namespace sinkscope::stats {

namespace {

constexpr int64_t kPartRows = 256;
constexpr double kNoMass = 1e-6;  // of a row whose weight all went to a learned sink logit

theory::Turn turn_of_row(const float* x, const float* y, int64_t width) {
  double xx = 0, xd = 0, dd = 0;
  for (int64_t c = 0; c < width; ++c) {
    const double a = x[c], d = y[c] - a;
    xx += a * a, xd += a * d, dd += d * d;
  }
  return theory::turn_of(xx, xd, dd);
}

}  // namespace

std::vector<int64_t> tracked_positions(int64_t tokens) {
  std::vector<int64_t> positions;
  for (int64_t p = 0; p < tokens; p = p < 4 ? p + 1 : 2 * p) positions.push_back(p);
  return positions;
}

void row_turns(const float* x, const float* y, int64_t tokens, int64_t width,
               std::vector<double>& turn, std::vector<double>& error) {
  turn.resize(static_cast<size_t>(tokens)), error.resize(static_cast<size_t>(tokens));
  at::parallel_for(0, tokens, kPartRows, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const theory::Turn found = turn_of_row(x + t * width, y + t * width, width);
      turn[static_cast<size_t>(t)] = found.size;
      error[static_cast<size_t>(t)] = found.error;
    }
  });
}

ChannelWrite channel_write(std::span<const float> before, std::span<const float> attention,
                           std::span<const float> mlp, std::span<const float> after) {
  size_t best = 0;
  float largest = -1;
  for (size_t c = 0; c < after.size(); ++c) {
    const float size = std::max(std::abs(before[c]), std::abs(after[c]));
    if (size > largest) largest = size, best = c;
  }
  return {static_cast<int64_t>(best), before[best], after[best], attention[best], mlp[best], {}};
}

std::vector<double> head_writes(const at::Tensor& z, const at::Tensor& w_o, int64_t channel) {
  const int64_t heads = z.size(0), width = z.size(1);
  const at::Tensor weights = w_o[channel].to(at::kDouble).view({heads, width});
  const at::Tensor writes = weights.mul(z.to(at::kDouble)).sum(1);
  return {writes.data_ptr<double>(), writes.data_ptr<double>() + heads};
}

std::vector<std::vector<double>> norms_without_head(const at::Tensor& h, const at::Tensor& z,
                                                    const at::Tensor& w_o, double scale) {
  const int64_t tokens = h.size(0), width = h.size(1), heads = z.size(1), inner = z.size(2);
  const at::Tensor weights = w_o.to(at::kFloat);
  std::vector<std::vector<double>> norms(static_cast<size_t>(heads),
                                         std::vector<double>(static_cast<size_t>(tokens)));
  const int64_t parts = (tokens + kPartRows - 1) / kPartRows;
  at::parallel_for(0, parts * heads, 1, [&](int64_t begin, int64_t end) {
    const c10::NoGradGuard no_grad;
    for (int64_t task = begin; task < end; ++task) {
      const int64_t head = task % heads, first = task / heads * kPartRows;
      const int64_t rows = std::min(kPartRows, tokens - first);
      const at::Tensor update = at::mm(z.narrow(0, first, rows).select(1, head),
                                       weights.narrow(1, head * inner, inner).t());  // [R, D]
      const at::Tensor rest = at::sub(h.narrow(0, first, rows), update, scale).contiguous();
      for (int64_t r = 0; r < rows; ++r) {
        norms[static_cast<size_t>(head)][static_cast<size_t>(first + r)] =
            length(rest.data_ptr<float>() + r * width, width);
      }
    }
  });
  return norms;
}

at::Tensor unit_rows(const at::Tensor& v) {
  at::Tensor units = v.to(at::kFloat).contiguous().clone();
  const int64_t rows = units.size(0), width = units.size(1);
  float* row = units.data_ptr<float>();
  for (int64_t r = 0; r < rows; ++r, row += width) {
    const double norm = length(row, width);
    for (int64_t c = 0; norm > 0 && c < width; ++c) row[c] = static_cast<float>(row[c] / norm);
  }
  return units;
}

double pair_cosine(const at::Tensor& units) {
  const auto count = static_cast<double>(units.size(0));
  if (units.size(0) < 2) return std::numeric_limits<double>::quiet_NaN();
  const at::Tensor exact = units.to(at::kDouble);
  const at::Tensor sum = exact.sum(0);
  const double own = exact.mul(exact).sum().item<double>();  // number of rows that are not zero
  return (sum.dot(sum).item<double>() - own) / (count * (count - 1));
}

void Cone::add(const at::Tensor& pattern, const at::Tensor& units, std::span<const float> square,
               std::span<const float> missing) {
  const at::Tensor mean = at::mm(pattern, units);  // [R, K]
  const int64_t width = mean.size(1);
  for (size_t r = 0; r < square.size(); ++r) {
    const double mass = missing.empty() ? 1 : 1.0 - missing[r];
    if (square[r] == 0 || mass < kNoMass) continue;
    const double norm = length(mean.data_ptr<float>() + static_cast<int64_t>(r) * width, width);
    x_.push_back(square[r] / (mass * mass));
    y_.push_back(norm * norm / (mass * mass));
  }
}

ConeValues Cone::value(const at::Tensor& units) const {
  const theory::Line line = theory::fit_line(x_, y_);
  return {pair_cosine(units), line.intercept, line.slope, line.r2};
}

}  // namespace sinkscope::stats
