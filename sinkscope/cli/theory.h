#pragma once

#include "sinkscope/cli/subcommands.h"

namespace sinkscope::cli {

/// A subcommand `name` of `theory` with the flags that all calculators share; the action is set.
CLI::App& add_calculator(CLI::App& theory, const char* name, const char* question,
                         std::shared_ptr<app::TheoryOptions> options, Action& action);

/// smoothing, cone, switch.
void add_theory_steps(CLI::App& theory, Action& action);

}  // namespace sinkscope::cli
