#include "sinkscope/app/commands.h"

#include "sinkscope/app/ablate/ablate.h"
#include "sinkscope/app/inspect.h"
#include "sinkscope/app/report.h"
#include "sinkscope/app/scan.h"
#include "sinkscope/app/selftest.h"
#include "sinkscope/app/theory/theory.h"
#include "sinkscope/app/train/train.h"
#include "sinkscope/app/verify.h"

extern "C" const sinkscope::app::Commands* sinkscope_commands() {
  namespace app = sinkscope::app;
  static constexpr app::Commands kCommands{app::scan,    app::ablate, app::theory,   app::train,
                                           app::inspect, app::verify, app::selftest, app::report};
  return &kCommands;
}
