#include "sinkscope/cli/app_library.h"
#include "sinkscope/cli/subcommands.h"

namespace sinkscope::cli {

void add_ablate(CLI::App& app, Action& action) {
  auto options = std::make_shared<app::AblateOptions>();
  CLI::App& command =
      *app.add_subcommand("ablate", "edit heads, positions or the input and measure what it costs");
  add_model_flags(command, *options);
  const auto flag = [&](const char* name, auto& value, const char* help) {
    return command.add_option(name, value, help)->capture_default_str();
  };
  flag("--edit,--edits", options->interventions,
       "interventions by name (docs/ablate.md lists them), or all")
      ->delimiter(',');
  flag("--heads", options->heads,
       "heads to edit one at a time: auto (those with a sink event or a conditional sink), all, or "
       "such as L5H3,L6H0-3");
  command.add_flag_callback(
      "--all-heads", [options] { options->heads = "all"; }, "the same as --heads all");
  flag("--key", options->key, "key that edits of a head act on: its sink, or a position");
  flag("--blocks", options->blocks, "blocks for edits that name blocks; default: the edit's own")
      ->delimiter(',');
  flag("--pos", options->position, "position for self-only and bos-move, and of sink_pos")
      ->check(CLI::NonNegativeNumber);
  flag("--window", options->window, "keys that `window` leaves")->check(CLI::PositiveNumber);
  flag("--offset", options->offset, "added to the key's logits by logit-offset");
  flag("--repeats", options->repeats, "how often bos-repeat has the first token")
      ->check(CLI::Range(2, 1 << 20));
  flag("--swap-id", options->swap_id, "first token of bos-swap; -1: a random one");
  flag("--split", options->split, "channels that force-sink leaves to position 0")
      ->check(CLI::PositiveNumber);
  flag("--channels", options->channels, "channels of zero-massive and mean-massive")
      ->delimiter(',');
  command.add_option("-o,--output", options->output,
                     "store of the effects; the same command again resumes it");
  add_format_flag(command, options->format, {"table", "json", "csv"});
  command.add_flag("--overwrite", options->overwrite, "replace existing results");
  command.add_flag("--ascii", options->ascii, "map in plain characters");
  command.final_callback([options, &action] {
    action = [options](app::Console& console) { return commands().ablate(*options, console); };
  });
}

}  // namespace sinkscope::cli
