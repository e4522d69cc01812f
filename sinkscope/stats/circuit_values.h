#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "sinkscope/stats/site.h"

namespace sinkscope::stats {

/// One channel of position 0 through a block.
struct ChannelWrite {
  int64_t channel = -1;  ///< with the largest |x| before or after the block; -1: not measured
  double before = 0, after = 0;   ///< in the residual
  double attention = 0, mlp = 0;  ///< what the branch adds
  std::vector<double> heads;      ///< [H] each head's part of `attention`; a bias belongs to none
};

/// The cone model of one near-uniform head: y_t = ||sum_j p_tj v_j / ||v_j|| ||^2 on
/// x_t = sum_j p_tj^2, p the attention weights with their sum made 1. All NaN in other heads.
struct ConeValues {
  double cosine = std::numeric_limits<double>::quiet_NaN();  ///< mean over pairs of the values
  double intercept = std::numeric_limits<double>::quiet_NaN();
  double slope = std::numeric_limits<double>::quiet_NaN();
  double r2 = std::numeric_limits<double>::quiet_NaN();
};

/// Position 0 against the rest at every site of one block (method.md section 12). What a block does
/// not have is empty.
struct CircuitValues {
  bool causal = true;  ///< false: no position is set apart by the mask; nothing else is measured
  std::vector<bool> starts;                      ///< [T] first token of a document
  std::array<std::vector<double>, kSites> norm;  ///< [T] by site
  /// [T] theory::Turn of the residual from before to after the block; empty for post-norm blocks
  std::vector<double> turn, turn_error;
  ChannelWrite channel;
  /// Block 0: ||h_t|| of h = residual plus attention, [T], and the same without each head, [H][T];
  /// empty elsewhere, and where a norm ends the branch.
  std::vector<double> joined;
  std::vector<std::vector<double>> joined_without;
  std::vector<ConeValues> cone;  ///< [H]
};

}  // namespace sinkscope::stats
