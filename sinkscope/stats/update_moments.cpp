#include "sinkscope/stats/update_moments.h"

#include <ATen/ATen.h>

#include <limits>

namespace sinkscope::stats {
namespace {

/// Symmetric square root of a positive semidefinite matrix; rounding's negative eigenvalues are 0.
at::Tensor root(const at::Tensor& matrix) {
  const auto [values, vectors] = at::linalg_eigh(matrix);
  return vectors * values.clamp_min(0).sqrt();  // columns scaled: root root^T = matrix
}

}  // namespace

UpdateMoments::UpdateMoments(int64_t width)
    : second_(at::zeros({width, width}, at::kDouble)), first_(at::zeros({width}, at::kDouble)) {}

void UpdateMoments::add(const at::Tensor& context) {
  // Float products are summed in double, 128 rows at a time, so that long sequences lose nothing.
  // Sums are new tensors: copies of this object share the old ones.
  constexpr int64_t kBlock = 128;
  for (int64_t first = 0; first < context.size(0); first += kBlock) {
    const at::Tensor rows =
        context.narrow(0, first, std::min(kBlock, context.size(0) - first)).to(at::kDouble);
    second_ = second_ + at::matmul(rows.t(), rows);
    first_ = first_ + rows.sum(0);
  }
  count_ += context.size(0);
}

void UpdateMoments::merge(const UpdateMoments& other) {
  second_ = second_ + other.second_;
  first_ = first_ + other.first_;
  count_ += other.count_;
}

UpdateValues UpdateMoments::value(const at::Tensor& gram) const {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const at::Tensor g = gram.to(at::kDouble);
  UpdateValues values;
  values.energy = (second_ * g).sum().item<double>();
  if (!(values.energy > 1e-30) || count_ == 0) return {values.energy, kNaN, kNaN};
  const at::Tensor r = root(second_);  // M = r r^T
  const double top = at::linalg_eigvalsh(at::matmul(at::matmul(r.t(), g), r)).max().item<double>();
  values.stable_rank = values.energy / top;
  values.common_mode = at::matmul(first_, at::matmul(g, first_)).item<double>() /
                       static_cast<double>(count_) / values.energy;
  return values;
}

}  // namespace sinkscope::stats
