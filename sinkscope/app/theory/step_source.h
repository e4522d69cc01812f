#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sinkscope/app/theory/options.h"
#include "sinkscope/store/store.h"
#include "sinkscope/theory/step_model.h"

namespace sinkscope::app {

/// The attention steps that the options of `smoothing` describe.
class StepSource {
 public:
  /// Reads the files. Throws kUsage for an unknown kind, a matrix of another shape, a covariance
  /// that is not symmetric or has a negative eigenvalue, and numbers out of range.
  StepSource(const SmoothingOptions& options, uint64_t seed);

  int64_t width() const { return width_; }
  /// tr Sigma.
  double spread() const;
  /// The option's own map: a kind, or "file".
  const std::string& map_name() const { return map_name_; }
  bool is_random(std::string_view map) const;

  /// u = factor W x. `map` is a kind, or "file"; `draw` tells random maps apart.
  theory::StepModel model(std::string_view map, double factor, double mean, int64_t draw = 0) const;

  /// What says which steps these are; files by hash.
  store::Facts settings() const;

 private:
  SmoothingOptions options_;
  uint64_t seed_;
  int64_t width_;
  std::string map_name_;
  std::vector<double> file_map_, covariance_;  // [d, d]
};

}  // namespace sinkscope::app
