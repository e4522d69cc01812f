#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sinkscope/forward/reference.h"

namespace sinkscope::forward::test {

/// How far a model is from its golden tensors: differences relative to the largest value of a tap,
/// and of alpha absolute.
struct GoldenDifference {
  double tap = 0, alpha = 0;
  std::string tap_name, alpha_name;  ///< where they are largest
  int compared = 0;                  ///< tensors
};

/// Runs the sequences of `golden_file` and compares every tensor that it holds. What its
/// attention_mask hides is cut away on both sides. `reference`: the float64 path instead of the
/// fast.
GoldenDifference compare_with_golden(const std::string& model,
                                     const std::filesystem::path& golden_file,
                                     bool reference = false);

/// The sequences of a golden file.
std::vector<Stream> golden_streams(const std::filesystem::path& golden_file);

}  // namespace sinkscope::forward::test
