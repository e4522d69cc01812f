#pragma once

#include "sinkscope/app/commands.h"

namespace sinkscope::cli {

/// The commands, from libsinkscope_app.so beside the program, loaded at the first call. Throws
/// kInternal naming the library and the loader's reason.
const app::Commands& commands();

}  // namespace sinkscope::cli
