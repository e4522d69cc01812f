#pragma once

#include "sinkscope/app/console.h"
#include "sinkscope/app/options.h"
#include "sinkscope/app/theory/options.h"
#include "sinkscope/app/train/options.h"

namespace sinkscope::app {

/// One function per subcommand; each returns the exit code (0, or 1 for a check that did not
/// hold) and throws Error for everything that stops it.
///
/// They live in libsinkscope_app.so, which the program loads when a command runs: LibTorch takes
/// 0.3 s to load, and --help must not wait for it.
struct Commands {
  int (*scan)(const ScanOptions&, Console&);
  int (*ablate)(const AblateOptions&, Console&);
  int (*theory)(const TheoryOptions&, Console&);
  int (*train)(const TrainOptions&, Console&);
  int (*inspect)(const InspectOptions&, Console&);
  int (*verify)(const VerifyOptions&, Console&);
  int (*selftest)(const SelftestOptions&, Console&);
  int (*report)(const ReportOptions&, Console&);
};

}  // namespace sinkscope::app

extern "C" const sinkscope::app::Commands* sinkscope_commands();
