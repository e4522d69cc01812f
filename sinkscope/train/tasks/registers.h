#pragma once

#include <memory>

#include "sinkscope/train/task.h"

namespace sinkscope::train {

/// `task` with `count` tokens before every sequence: rows of zeros, which their learned positions
/// tell apart, or ids of their own. No loss counts them (method.md section 17, registers).
std::unique_ptr<Task> with_registers(std::unique_ptr<Task> task, int64_t count);

}  // namespace sinkscope::train
