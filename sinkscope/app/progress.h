#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "sinkscope/app/console.h"

namespace sinkscope::app {

/// Progress of a long run on stderr: bar, rate and time left on a terminal, a line every ten
/// seconds elsewhere, nothing with -q.
class Progress {
 public:
  /// `total` steps of work (token-layers); the whole is `amount` of what the rate counts.
  Progress(Console& console, int64_t total, int64_t amount, const char* counted = "tokens");
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `note` follows the rate: what else is worth seeing.
  void update(int64_t done, const std::string& note = {});

 private:
  void write(double share, double seconds, const std::string& note);
  Console& console_;
  int64_t total_, amount_;
  const char* counted_;
  std::chrono::steady_clock::time_point start_, last_;
  bool drawn_ = false;
};

}  // namespace sinkscope::app
