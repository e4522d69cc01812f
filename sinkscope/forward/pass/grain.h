#pragma once

#include <cstdint>

namespace sinkscope::forward {

constexpr int64_t kRowGrain = 16;  ///< rows per task of the row operations

}  // namespace sinkscope::forward
