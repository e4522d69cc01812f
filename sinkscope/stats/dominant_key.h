#pragma once

#include <cstdint>

namespace sinkscope::stats {

// In place of the position of a head's dominant key.
inline constexpr int64_t kNoValueKey = -1;   ///< the learned sink logit: its value is zero
inline constexpr int64_t kHeadLeftOut = -2;  ///< the head is not measured

}  // namespace sinkscope::stats
