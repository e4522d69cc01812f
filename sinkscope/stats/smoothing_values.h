#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "sinkscope/theory/smoothing.h"

namespace sinkscope::stats {

/// Where scans take the curves.
inline constexpr std::array<double, 11> kLambdas = {0,   0.1, 0.2, 0.3, 0.4, 0.5,
                                                    0.6, 0.7, 0.8, 0.9, 1};

/// Mean cosine over the pairs of tokens after one attention step; NaN where fewer than two tokens
/// have a direction.
struct StepCosines {
  std::vector<double> by_lambda;  ///< attention between identity and uniform, at each lambda
  double actual = std::numeric_limits<double>::quiet_NaN();  ///< the head's own attention
  /// Every query reads the head's dominant key alone, or itself where it does not see that key.
  double sink = std::numeric_limits<double>::quiet_NaN();
};

/// One way to look at the step.
struct StepCurves {
  StepCosines rest;  ///< pairs without the tokens left out
  StepCosines all;
  // Of the tokens that are not left out; not taken for the head alone.
  theory::StepMoments moments;
  std::vector<double> predicted;  ///< by lambda
};

/// One head's attention moved from identity to uniform (method.md section 9).
struct SmoothingValues {
  int64_t left_out = 0;     ///< number of tokens left out
  int64_t shared_key = -1;  ///< the dominant key among them that heads share; -1: none
  StepCurves skip;          ///< residual, the other heads as they are, and this head
  StepCurves alone;         ///< this head's update alone
  StepCurves normed;        ///< `skip` behind the norm that reads it; no lambdas when none does
  /// Mean position of the head's rows between identity (0) and uniform (1).
  double uniformity = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace sinkscope::stats
