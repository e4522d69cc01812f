#include "sinkscope/cli/theory.h"

#include "sinkscope/cli/app_library.h"

namespace sinkscope::cli {
namespace {

void add_cloud_flags(CLI::App& command, app::CloudOptions& cloud) {
  const auto flag = [&](const char* name, auto& value, const char* help) {
    return command.add_option(name, value, help)->capture_default_str();
  };
  flag("--geometry", cloud.geometries,
       "tokens: orthonormal, simplex, cone, random-cone, isotropic, low-rank, cross-polytope")
      ->delimiter(',');
  flag("--T", cloud.tokens, "context tokens beside the sink: 8, 2:48, 64:1024:x2, 8,16,32");
  command.add_option("--d,--dims", cloud.widths, "width of the tokens; default: the least");
  flag("--cosine", cloud.cosine, "cone: cosine of the context tokens with its axis");
  flag("--sink-cosine", cloud.sink_cosine, "cone: cosine of the sink with it");
  flag("--sine", cloud.sines, "cross-polytope: how far its tokens are lifted")->delimiter(',');
  flag("--rank", cloud.rank, "low-rank: dimension of the context tokens");
  command.add_option("--vectors", cloud.vectors,
                     ".npy or FILE.safetensors:NAME with tokens [rows, d], the sink first");
}

/// Flags of a model whose layers give the tokens.
void add_model_tokens(CLI::App& command, app::CloudOptions& cloud) {
  command.add_option("--tokens-from", cloud.model.model,
                     "a model: the normed inputs of its layers are the tokens");
  command.add_option("--layers", cloud.layers, "layers of the model, 0-3,7")->capture_default_str();
  cloud.model.inputs.max_seqs = 1;
  add_input_flags(command, cloud.model.inputs);
}

void add_geometry(CLI::App& theory, Action& action) {
  auto options = std::make_shared<app::TheoryOptions>();
  app::GeometryOptions& geometry = options->geometry;
  CLI::App& command = add_calculator(
      theory, "geometry", "is there any W_QK that makes a sink of these tokens", options, action);
  add_cloud_flags(command, geometry.cloud);
  add_model_tokens(command, geometry.cloud);
  command.add_flag("--random", geometry.random,
                   "draw tokens with normal entries: Theorem A and Wendel's probability");
  command
      .add_option("--draws,--seeds", geometry.draws, "sets of tokens for each T and d of --random")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command
      .add_option("--hs-tol", geometry.hull_tolerance,
                  "a hull nearer to 0 than this part of its longest token holds 0")
      ->check(CLI::Range(0.0, 0.1))
      ->capture_default_str();
  command
      .add_option("--epsilon", geometry.epsilon, "attention 1 - epsilon is what the lead is for")
      ->check(CLI::Range(1e-6, 1 - 1e-6))
      ->capture_default_str();
}

void add_cost(CLI::App& theory, Action& action) {
  auto options = std::make_shared<app::TheoryOptions>();
  app::CostOptions& cost = options->cost;
  CLI::App& command = add_calculator(
      theory, "cost", "the least W_QK for a sink, a diagonal, a copy, with certified bounds",
      options, action);
  add_cloud_flags(command, cost.cloud);
  add_model_tokens(command, cost.cloud);
  const auto flag = [&](const char* name, auto& value, const char* help) {
    return command.add_option(name, value, help)->capture_default_str();
  };
  flag("--pattern", cost.patterns, "sink, diagonal, mixed-sink, mixed-diagonal")->delimiter(',');
  flag("--task", cost.task, "backcopy or copy-paste: W_QK and W_VO together, sink against diagonal")
      ->check(CLI::IsMember({"backcopy", "copy-paste"}));
  flag("--active", cost.active, "share of active queries of a mixed pattern or a task")
      ->delimiter(',')
      ->check(CLI::Range(1e-3, 1.0));
  flag("--offset", cost.offset, "backcopy: an active query copies from so many tokens back")
      ->check(CLI::PositiveNumber);
  flag("--norm", cost.norm, "nuclear, frobenius or both")
      ->check(CLI::IsMember({"nuclear", "frobenius", "both"}));
  flag("--mask", cost.mask, "which keys a query is compared at: causal or all")
      ->check(CLI::IsMember({"causal", "all"}));
  command.add_flag("--scale-logits", cost.scale_logits, "logits carry 1 / sqrt(d)");
  flag("--kappa", cost.margin, "lead that the chosen key must have in the logits")
      ->check(CLI::PositiveNumber);
  flag("--cost-gap", cost.gap, "relative gap of the bounds at which the solver stops")
      ->check(CLI::Range(1e-6, 0.5));
  flag("--cost-max-T", cost.max_tokens, "more tokens: closed forms and bounds only")
      ->check(CLI::Range(1, 1024));
  flag("--cost-seconds", cost.seconds, "most time for one program; its gap is printed")
      ->check(CLI::PositiveNumber);
}

}  // namespace

CLI::App& add_calculator(CLI::App& theory, const char* name, const char* question,
                         std::shared_ptr<app::TheoryOptions> options, Action& action) {
  CLI::App& command = *theory.add_subcommand(name, question);
  options->what = name;
  command.add_option("-o,--output", options->output,
                     "store of the results; the same command again goes on with a sweep");
  command.add_option("--report", options->report, "write a page with plots and tables");
  add_format_flag(command, options->format, {"table", "json", "csv"});
  command.add_option("--table", options->table,
                     "table that --format csv writes; default: the first");
  command.add_flag("--overwrite", options->overwrite, "replace existing results");
  add_seed_flag(command, options->seed);
  add_thread_flag(command, options->threads);
  command.final_callback([options, &action] {
    action = [options](app::Console& console) { return commands().theory(*options, console); };
  });
  return command;
}

void add_theory(CLI::App& app, Action& action) {
  CLI::App& theory = *app.add_subcommand(
      "theory", "when can a sink exist, what does it cost, when does mixing smooth: calculators");
  theory.require_subcommand(1);
  add_geometry(theory, action);
  add_cost(theory, action);
  add_theory_steps(theory, action);
}

}  // namespace sinkscope::cli
