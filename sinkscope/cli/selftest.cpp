#include "sinkscope/cli/app_library.h"
#include "sinkscope/cli/subcommands.h"

namespace sinkscope::cli {

void add_selftest(CLI::App& app, Action& action) {
  auto options = std::make_shared<app::SelftestOptions>();
  CLI::App& command =
      *app.add_subcommand("selftest", "planted heads of every class through the whole pipeline");
  add_format_flag(command, options->format, {"table", "json"});
  command.final_callback([options, &action] {
    action = [options](app::Console& console) { return commands().selftest(*options, console); };
  });
}

}  // namespace sinkscope::cli
