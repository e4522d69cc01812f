#include "sinkscope/cli/app_library.h"
#include "sinkscope/cli/subcommands.h"

namespace sinkscope::cli {

void add_verify(CLI::App& app, Action& action) {
  auto options = std::make_shared<app::VerifyOptions>();
  CLI::App& command =
      *app.add_subcommand("verify", "compare the fast path with the float64 reference, tap by tap");
  command.add_option("MODEL", options->model, ".gguf file, directory, or cached hub id")
      ->required();
  add_input_flags(command, options->inputs);
  add_seed_flag(command, options->inputs.seed);
  command.add_option("--dtype", options->dtype, "arithmetic of the linear layers: f32, bf16")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str();
  add_thread_flag(command, options->threads);
  add_format_flag(command, options->format, {"table", "json"});
  command.final_callback([options, &action] {
    action = [options](app::Console& console) { return commands().verify(*options, console); };
  });
}

}  // namespace sinkscope::cli
