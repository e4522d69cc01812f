#pragma once

#include <ostream>
#include <string>

#include "sinkscope/store/run_result.h"

namespace sinkscope::report {

struct TerminalOptions {
  int columns = 80;          ///< width of the terminal; at least 40 is assumed
  int rows = 40;             ///< layers that fit; more are grouped, and the output says so
  bool ascii = false;        ///< . : + * # instead of block characters
  bool colour = false;       ///< ANSI colours; letters and shades say the same without them
  std::string results = {};  ///< path of the store; empty: nothing was kept
  std::string page = {};     ///< path of the HTML page; empty: none was written
  std::string next = {};     ///< the command to try next; empty: none
};

/// Where the results are and what to try next; nothing when there is neither.
void write_results(const TerminalOptions& options, std::ostream& out);

/// `scan --format table`: title, map, findings, where the results are (page.md, "Terminal").
void write_terminal(const store::RunResult& run, const TerminalOptions& options, std::ostream& out);

}  // namespace sinkscope::report
