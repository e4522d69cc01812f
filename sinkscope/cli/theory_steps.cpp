#include "sinkscope/cli/theory.h"

namespace sinkscope::cli {
namespace {

/// A flag whose number may be left out.
template <typename T>
CLI::Option* add_count(CLI::App& command, const char* name, T& value, const char* without,
                       const char* help) {
  return command.add_option(name, value, help)
      ->expected(0, 1)
      ->default_str(without)
      ->check(CLI::Range(0, 10'000'000));
}

void add_smoothing(CLI::App& theory, Action& action) {
  auto options = std::make_shared<app::TheoryOptions>();
  app::SmoothingOptions& smoothing = options->smoothing;
  CLI::App& command = add_calculator(
      theory, "smoothing", "does denser attention make tokens more alike: predicted and drawn",
      options, action);
  const auto flag = [&](const char* name, auto& value, const char* help) {
    return command.add_option(name, value, help)->capture_default_str();
  };
  command.add_option("--T", smoothing.tokens,
                     "tokens: 64, 8:64:8, 2,8,64; default: 64, for --sweep W 2,8,64,512");
  command.add_option("--d", smoothing.width, "width; default: that of the files, or 128")
      ->check(CLI::Range(1, 1024));
  CLI::Option* const own[] = {
      flag("--value-map", smoothing.value_map,
           "W: identity, random, symmetric, skew, anti-aligned, .npy or FILE.safetensors:NAME"),
      flag("--scale", smoothing.scale, "factor of W"),
      flag("--beta", smoothing.beta, "factor of the branch: u = beta scale W x"),
      flag("--mean", smoothing.means, "length of the mean token; a list by commas")->delimiter(','),
      command.add_flag("--no-skip", smoothing.no_skip, "without the skip connection: r = 0"),
      flag("--mask", smoothing.masks, "causal, full or both by a comma")
          ->delimiter(',')
          ->check(CLI::IsMember({"causal", "full"})),
      command
          .add_option("--lambdas", smoothing.lambdas,
                      "shares of uniform attention; default: 0, 0.1, .. 1")
          ->delimiter(','),
  };
  flag("--covariance", smoothing.covariance,
       "of the tokens: identity, low-rank, power (1/k), .npy or FILE.safetensors:NAME");
  flag("--rank", smoothing.rank, "of a low-rank covariance and an anti-aligned W")
      ->check(CLI::Range(1, 1024));
  flag("--norm", smoothing.norm, "norm that reads the result: none, rms, layer")
      ->check(CLI::IsMember({"none", "rms", "layer"}));
  add_count(
      command, "--mc", smoothing.draws, "120",
      "draws of a Monte Carlo with Gaussian tokens: 120 when no number is given; without it none");
  CLI::Option* sweep =
      command
          .add_option("--sweep", smoothing.sweep,
                      "W: many value maps, means and T; settings: 16 steps, predicted and drawn")
          ->check(CLI::IsMember({"W", "settings"}));
  for (CLI::Option* option : own) sweep->excludes(option);
  flag("--maps", smoothing.maps, "random maps of each kind and scale in --sweep W")
      ->check(CLI::Range(1, 10000))
      ->needs(sweep);
}

void add_cone(CLI::App& theory, Action& action) {
  auto options = std::make_shared<app::TheoryOptions>();
  app::ConeOptions& cone = options->cone;
  CLI::App& command = add_calculator(
      theory, "cone", "why does the first position of a causal model stand out", options, action);
  const auto flag = [&](const char* name, auto& value, const char* help) {
    return command.add_option(name, value, help)->capture_default_str();
  };
  CLI::Option* const own[] = {
      flag("--T", cone.tokens, "positions, up to 1024"),
      flag("--d", cone.width, "width of the values"),
      flag("--alpha", cone.alphas, "cosine of a value with the cone's axis; a list by commas")
          ->delimiter(','),
      flag("--attention", cone.attention,
           "uniform, local:W, sink:A, or a file with rows of weights [T, T]"),
      flag("--mc", cone.draws, "draws of a Monte Carlo; 0: none")->check(CLI::Range(0, 10'000'000)),
  };
  CLI::Option* stability =
      command.add_flag("--norm-stability", cone.norm_stability,
                       "instead: how far an update turns a normed vector, by its length");
  for (CLI::Option* option : own) stability->excludes(option);
  flag("--x-norm", cone.norms, "lengths of the vector, for --norm-stability")
      ->delimiter(',')
      ->needs(stability);
  flag("--dx", cone.steps, "sizes of the update in each of 4 channels, for --norm-stability")
      ->delimiter(',')
      ->needs(stability);
}

void add_switch(CLI::App& theory, Action& action) {
  auto options = std::make_shared<app::TheoryOptions>();
  app::SwitchOptions& attention_switch = options->attention_switch;
  CLI::App& command =
      add_calculator(theory, "switch", "is a head that outputs nothing one that attends to a sink",
                     options, action);
  const auto flag = [&](const char* name, auto& value, const char* help) {
    return command.add_option(name, value, help)->capture_default_str();
  };
  flag("--kappa", attention_switch.margins, "leads of the sink's logit; a list by commas")
      ->delimiter(',');
  flag("--keys", attention_switch.others, "other keys: 1,7,63 or 2:48 or 64:1024:x2");
  flag("--epsilon", attention_switch.epsilons, "wanted attention 1 - epsilon; a list by commas")
      ->delimiter(',');
  add_count(command, "--random", attention_switch.heads, "3000",
            "random heads to test Theorem C on: 3000 when no number is given; without it none");
}

}  // namespace

void add_theory_steps(CLI::App& theory, Action& action) {
  add_smoothing(theory, action);
  add_cone(theory, action);
  add_switch(theory, action);
}

}  // namespace sinkscope::cli
