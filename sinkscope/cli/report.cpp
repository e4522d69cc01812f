#include "sinkscope/cli/app_library.h"
#include "sinkscope/cli/subcommands.h"

namespace sinkscope::cli {

void add_report(CLI::App& app, Action& action) {
  auto options = std::make_shared<app::ReportOptions>();
  CLI::App& command =
      *app.add_subcommand("report", "show a stored run: terminal map, HTML page, JSON, CSV, npz");
  command.add_option("STORE", options->store, "store written by scan, ablate, theory or train")
      ->required();
  command.add_option("--report", options->report, "write the HTML page to this file");
  add_format_flag(command, options->format, {"table", "json", "csv", "npz"});
  command.add_option("-o,--output", options->output, "file for the results instead of stdout");
  command.add_option("--table", options->table,
                     "table of a store of theory or train that --format csv writes; default: the "
                     "first");
  command.add_flag("--overwrite", options->overwrite, "replace existing files");
  command.add_flag("--ascii", options->ascii, "terminal map in plain characters");
  command.final_callback([options, &action] {
    action = [options](app::Console& console) { return commands().report(*options, console); };
  });
}

}  // namespace sinkscope::cli
