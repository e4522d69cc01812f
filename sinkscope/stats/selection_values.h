#pragma once

#include <cstdint>
#include <limits>

namespace sinkscope::stats {

/// How the queries of one head find its dominant key s (method.md section 4). NaN where s is no
/// token or stands alone.
struct SelectionValues {
  double key_norm_ratio =
      std::numeric_limits<double>::quiet_NaN();  ///< ||k_s|| / mean_{j != s} ||k_j||
  double query_key_cosine = std::numeric_limits<double>::quiet_NaN();   ///< mean_i cos(q_i, k_s)
  double query_stable_rank = std::numeric_limits<double>::quiet_NaN();  ///< of the rows q_i
  double input_norm_ratio =
      std::numeric_limits<double>::quiet_NaN();  ///< ||x_s|| / median_j ||x_j||
  bool input_massive = false;                    ///< x_s holds a massive activation (section 5)
  bool learned_logit = false;                    ///< s is the learned sink logit
};

}  // namespace sinkscope::stats
