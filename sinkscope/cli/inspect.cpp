#include "sinkscope/cli/app_library.h"
#include "sinkscope/cli/subcommands.h"

namespace sinkscope::cli {

void add_inspect(CLI::App& app, Action& action) {
  auto options = std::make_shared<app::InspectOptions>();
  CLI::App& command = *app.add_subcommand(
      "inspect", "show what a model file holds and what measuring it would need");
  command
      .add_option("MODEL", options->model,
                  ".gguf or .safetensors file, directory, or cached hub id")
      ->required();
  command.add_option("--seq-len", options->seq_len, "tokens per sequence, for the memory plan")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--max-seqs", options->max_seqs, "sequences, for the memory plan")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  add_format_flag(command, options->format, {"table", "json"});
  command.final_callback([options, &action] {
    action = [options](app::Console& console) { return commands().inspect(*options, console); };
  });
}

}  // namespace sinkscope::cli
