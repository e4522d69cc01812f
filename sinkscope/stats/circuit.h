#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "sinkscope/stats/circuit_values.h"

namespace sinkscope::stats {

/// Positions whose directions are followed over inputs: 0 to 3, then powers of two, below `tokens`.
std::vector<int64_t> tracked_positions(int64_t tokens);

/// How the block turns each row: from x [tokens, width] to y, both row-major. Fills `turn` and
/// `error` [tokens] with theory::turn_of.
void row_turns(const float* x, const float* y, int64_t tokens, int64_t width,
               std::vector<double>& turn, std::vector<double>& error);

/// The channel with the largest |x| before or after the block at one position; ties: lowest. All
/// rows [width].
ChannelWrite channel_write(std::span<const float> before, std::span<const float> attention,
                           std::span<const float> mlp, std::span<const float> after);

/// What each head writes to a channel at one position: z [H, K], w_o [D, H K]; [H].
std::vector<double> head_writes(const at::Tensor& z, const at::Tensor& w_o, int64_t channel);

/// ||h_t - scale W_O^h z_t^h|| for every head and token, [H][T]: h [T, D], z [T, H, K],
/// w_o [D, H K].
std::vector<std::vector<double>> norms_without_head(const at::Tensor& h, const at::Tensor& z,
                                                    const at::Tensor& w_o, double scale);

/// Rows of v [T, K] at unit length; rows of zero stay zero.
at::Tensor unit_rows(const at::Tensor& v);

/// Mean cosine over pairs of the rows of `units` (from unit_rows); NaN for one row.
double pair_cosine(const at::Tensor& units);

/// Collects the points of ConeValues from blocks of attention rows of one head.
class Cone {
 public:
  /// `pattern` [R, S] with the values `units` [S, K] that it weights; `square` [R] and `missing`
  /// [R] (empty: 0) as in AttentionSums. Rows without mass are left out.
  void add(const at::Tensor& pattern, const at::Tensor& units, std::span<const float> square,
           std::span<const float> missing);
  ConeValues value(const at::Tensor& units) const;

 private:
  std::vector<double> x_, y_;
};

}  // namespace sinkscope::stats
