#pragma once

#include <CLI/CLI.hpp>

#include "sinkscope/app/commands.h"

namespace sinkscope::cli {

/// A subcommand's flags are bound to its options; when it was chosen, `run` does the work.
using Action = std::function<int(app::Console&)>;

/// Each adds its subcommand to `app` and sets `action` when it is parsed. One file per subcommand.
void add_scan(CLI::App& app, Action& action);
void add_ablate(CLI::App& app, Action& action);
void add_theory(CLI::App& app, Action& action);
void add_train(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_selftest(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);

/// The flags that say what is run, shared by the commands that run a model.
void add_model_flags(CLI::App& command, app::RunModelOptions& options);
void add_input_flags(CLI::App& command, app::InputOptions& inputs);
void add_seed_flag(CLI::App& command, uint64_t& seed);
void add_format_flag(CLI::App& command, std::string& format, std::vector<std::string> formats);
void add_thread_flag(CLI::App& command, int& threads);

}  // namespace sinkscope::cli
