#include "sinkscope/cli/app_library.h"
#include "sinkscope/cli/subcommands.h"

namespace sinkscope::cli {
namespace {

void add_threshold_flags(CLI::App& command, diagnostics::Thresholds& t) {
  const auto flag = [&](const char* name, auto& value, const char* help) {
    command.add_option(name, value, help)
        ->capture_default_str()
        ->group("Thresholds (docs/diagnostics)");
  };
  flag("--epsilon", t.epsilon, "a key with alpha above this is a sink");
  flag("--min-queries", t.min_queries, "a key seen by fewer queries is not judged");
  flag("--min-lift", t.min_lift, "least alpha over that of a uniform head");
  flag("--event-mass", t.event_mass, "a query uses the sink when it gives it at least this");
  flag("--event-query-share", t.event_query_share, "share of such queries that makes an event");
  flag("--nop-ratio", t.nop_ratio, "ratio_out at or below: nop");
  flag("--broadcast-ratio", t.broadcast_ratio, "ratio_out at or above: broadcast, if also");
  flag("--broadcast-stable-rank", t.broadcast_stable_rank, "stable rank at or below");
  flag("--massive-abs", t.massive_abs, "an activation above is massive, if also above");
  flag("--massive-ratio", t.massive_ratio, "this multiple of the median");
}

}  // namespace

void add_scan(CLI::App& app, Action& action) {
  auto options = std::make_shared<app::ScanOptions>();
  CLI::App& command = *app.add_subcommand(
      "scan", "measure every head of a model: sinks, what they do, norms, massive activations");
  add_model_flags(command, *options);
  command.add_option("--layers", options->layers, "layers to measure, such as 0-3,7; default all");
  command.add_option("--heads", options->heads,
                     "heads to measure, such as L5H3,L6H0-3; default all");
  command.add_option("--diag", options->diagnostics, "further diagnostics by name, or all")
      ->delimiter(',');
  command.add_option("-o,--output", options->output,
                     "store of the run; the same command again resumes it");
  command.add_option("--report", options->report, "write the HTML page to this file");
  add_format_flag(command, options->format, {"table", "json", "csv", "npz"});
  command.add_flag("--overwrite", options->overwrite, "replace existing results");
  command.add_flag("--ascii", options->ascii, "terminal map in plain characters");
  add_threshold_flags(command, options->thresholds);
  command.final_callback([options, &action] {
    action = [options](app::Console& console) { return commands().scan(*options, console); };
  });
}

}  // namespace sinkscope::cli
