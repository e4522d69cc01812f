#pragma once

namespace sinkscope::stats {

/// How large the value-output map of one head is, and the scale of its scores.
struct WeightSizeValues {
  double vo_nuclear = 0;    ///< sum of the singular values of W_O^h W_V
  double vo_frobenius = 0;  ///< root of the sum of their squares
  double score_scale = 1;   ///< c: scores are c q.k
};

}  // namespace sinkscope::stats
