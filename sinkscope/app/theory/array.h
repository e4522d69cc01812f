#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sinkscope::app {

/// A matrix of a file, row-major.
struct Matrix {
  std::vector<double> entries;
  int64_t rows = 0, columns = 0;
};

/// "FILE.npy" or "FILE.safetensors:NAME", float16, bfloat16, float32 or float64, with two
/// dimensions. Throws kUsage naming `flag` for another shape or a missing tensor, kBadNumbers for
/// NaN and infinities, and what reading the file throws.
Matrix read_matrix(const std::string& place, const std::string& flag);

}  // namespace sinkscope::app
