#include "sinkscope/cli/app_library.h"
#include "sinkscope/cli/subcommands.h"

namespace sinkscope::cli {
namespace {

/// Flags of one task: each becomes a setting of that name.
void add_setting(CLI::App& command, app::TrainOptions& options, const char* flag,
                 const char* setting, const char* help) {
  command.add_option_function<std::string>(
      flag, [&options, setting](const std::string& text) { options.settings[setting] = text; },
      help);
}

void add_settings(CLI::App& command, app::TrainOptions& options) {
  const auto setting = [&](const char* flag, const char* name, const char* help) {
    add_setting(command, options, flag, name, help);
  };
  setting("--nop-target", "nop_target", "conditional-damping: output, branch or dynamics [output]");
  setting("--gamma", "gamma", "conditional-damping: factor that aligned tokens keep [0]");
  setting("--frequency", "frequency", "conditional-damping: share of aligned tokens [0.5]");
  setting(
      "--text", "text",
      "bigram-backcopy: the table is that of this text [a random one; --paper: a shipped text]");
  setting("--layers", "layers", "bigram-backcopy: blocks [1]");
  setting("--triggers", "triggers",
          "bigram-backcopy: the most frequent symbols that are [3 of a text]");
  setting("--trigger-mass", "trigger_mass",
          "bigram-backcopy: or as many as have this share [0.4 without a text]");
  setting("--offset", "offset", "bigram-backcopy: how far back a trigger copies from [1]");
  setting("--rest", "rest", "copy-paste: what the others output, hard (nothing) or soft [hard]");
  command.add_option_function<std::vector<std::string>>(
      "--set",
      [&options](const std::vector<std::string>& pairs) {
        for (const std::string& pair : pairs) {
          const size_t equals = pair.find('=');
          if (equals == std::string::npos) throw CLI::ValidationError("--set", "wants NAME=VALUE");
          options.settings[pair.substr(0, equals)] = pair.substr(equals + 1);
        }
      },
      "any setting of the task by name (docs/training.md): width=32");
}

void add_recipe(CLI::App& command, app::TrainOptions& options) {
  command.add_flag("--paper", options.paper, "the published recipe instead of the scaled-down one");
  command.add_option("--steps", options.steps, "steps; default: the recipe's");
  command.add_option("--batch", options.batch, "sequences per step; default: the recipe's");
  command.add_option("--lr", options.rate, "peak learning rate; default: the recipe's");
  command.add_option("--optimiser,--optimizer", options.optimiser, "adamw or sgd");
  command.add_option("--weight-decay", options.weight_decay, "weight decay [0.0001]");
  command.add_option("--momentum", options.momentum, "of sgd [0]");
  command.add_option("--schedule", options.schedule, "constant, linear or cosine [constant]");
  command.add_option("--warmup", options.warmup, "steps in which the rate rises [0]");
  command.add_option("--clip", options.clip, "largest norm of the gradient; 0: as it is [0]");
}

void add_arms(CLI::App& command, app::TrainOptions& options) {
  const auto flag = [&](const char* name, auto& value, const char* help) {
    return command.add_option(name, value, help)->capture_default_str();
  };
  flag("--arms", options.arms,
       "variants to train, joined by +: base,gate-headwise,pathway+penalty (docs/training.md)")
      ->delimiter(',');
  command.add_option("--sweep", options.sweeps,
                     "train over values of a setting: gamma, frequency, NAME=VALUE,VALUE");
  flag("--seeds", options.seeds, "runs of every arm, with consecutive seeds");
  flag("--gate-bias", options.gate_bias, "initial bias of gates");
  flag("--penalty", options.penalty, "factor of the common-mode penalty");
  flag("--clip-alpha", options.clip_alpha, "of clipped: gamma = -alpha / T");
  command.add_option("--sigmoid-bias", options.sigmoid_bias, "of sigmoid [-log T]");
  flag("--registers", options.registers, "tokens that `registers` puts before a sequence")
      ->check(CLI::Range(1, 64));
  flag("--force-sink", options.force_sink, "channels that `force-sink` leaves to the first token");
  flag("--pathway-width", options.pathway_width, "width of the message of `pathway`");
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  auto options = std::make_shared<app::TrainOptions>();
  CLI::App& command = *app.add_subcommand(
      "train", "train the small models in which sinks form, and what cures them");
  command
      .add_option("TASK", options->task,
                  "conditional-damping, global-broadcast, bigram-backcopy or copy-paste")
      ->required();
  command.add_option(
      "-o,--output", options->output,
      "folder of models, checkpoints and train.db; default: the task's name. The same "
      "command again goes on from there");
  add_recipe(command, *options);
  add_arms(command, *options);
  add_settings(command, *options);
  add_seed_flag(command, options->seed);
  command
      .add_option("--record-every", options->record_every,
                  "steps between records; powers of two are recorded always [steps / 50]")
      ->check(CLI::PositiveNumber);
  command.add_option("--record-sequences", options->record_sequences, "sequences of a record")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  command
      .add_option("--checkpoint-every", options->checkpoint_every,
                  "steps between models that are kept [steps / 10]")
      ->check(CLI::PositiveNumber);
  command.add_option("--report", options->report, "HTML page");
  add_format_flag(command, options->format, {"table", "json", "csv"});
  command.add_option("--table", options->table, "of --format csv; default: the first");
  command.add_flag("--overwrite", options->overwrite,
                   "start anew: models, checkpoints and train.db of the folder are replaced");
  add_thread_flag(command, options->threads);
  command.final_callback([options, &action] {
    action = [options](app::Console& console) { return commands().train(*options, console); };
  });
}

}  // namespace sinkscope::cli
