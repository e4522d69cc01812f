#pragma once

#include <atomic>
#include <ostream>

namespace sinkscope::app {

/// Where a command writes, and what the terminal can do. Results go to `out`, all else to `err`.
struct Console {
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool colour = false;  ///< the terminal has it and NO_COLOR is unset
  int columns = 80, rows = 40;
  int verbosity = 0;                               ///< -1: -q, 0, 1: -v
  const std::atomic<bool>* interrupted = nullptr;  ///< set by Ctrl-C
};

}  // namespace sinkscope::app
