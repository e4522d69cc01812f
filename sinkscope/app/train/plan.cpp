#include "sinkscope/app/train/plan.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sinkscope/base/error.h"

namespace sinkscope::app {
namespace {

using Settings = std::map<std::string, std::string>;

train::TrainerOptions trainer_options(const TrainOptions& options, uint64_t seed) {
  train::TrainerOptions trainer = train::find_task(options.task).recipe(options.paper);
  const auto take = [](const auto& given, auto& into) {
    if (given) into = *given;
  };
  take(options.steps, trainer.steps), take(options.batch, trainer.batch);
  take(options.rate, trainer.optimiser.rate), take(options.warmup, trainer.optimiser.warmup);
  take(options.weight_decay, trainer.optimiser.weight_decay);
  take(options.momentum, trainer.optimiser.momentum), take(options.clip, trainer.optimiser.clip);
  if (!options.optimiser.empty()) trainer.optimiser.name = options.optimiser;
  if (!options.schedule.empty()) trainer.optimiser.schedule = options.schedule;
  trainer.gate_bias = options.gate_bias;
  trainer.seed = seed;
  return trainer;
}

train::VariantNumbers variant_numbers(const TrainOptions& options) {
  train::VariantNumbers numbers;
  numbers.clip_alpha = options.clip_alpha;
  numbers.sigmoid_bias = options.sigmoid_bias;
  numbers.pathway_width = options.pathway_width;
  numbers.penalty = options.penalty;
  numbers.registers = options.registers;
  numbers.split = options.force_sink;
  return numbers;
}

std::unique_ptr<train::Task> make_task(const TrainOptions& options, const Settings& settings,
                                       uint64_t seed, int64_t registers) {
  nlohmann::json json = {{"paper", options.paper}, {"seed", seed}, {"registers", registers}};
  for (const auto& [key, text] : settings) {
    nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
    json[key] = value.is_discarded() ? nlohmann::json(text) : value;
  }
  try {
    return train::make_task(options.task, io::Config::parse(json.dump(), "the command line"));
  } catch (const Error& error) {
    if (error.kind != ErrorKind::kBadFile) throw;
    throw Error(ErrorKind::kUsage, "read task settings", error.seen, error.hint);
  }
}

TrainRun make_run(const TrainOptions& options, const std::string& arm, const std::string& variants,
                  const Settings& settings, uint64_t seed) {
  TrainRun run;
  run.arm = arm;
  run.name = fmt::format("{}-seed{}", arm, seed);
  run.task = make_task(options, settings, seed, 0);
  run.plan.spec = run.task->spec();
  run.plan.options = trainer_options(options, seed);
  train::apply_variants(variants, variant_numbers(options), run.plan);
  if (run.plan.registers > 0) {
    run.task = make_task(options, settings, seed, run.plan.registers);
    const model::ModelSpec spec = run.task->spec();
    run.plan.spec.context = spec.context, run.plan.spec.vocabulary = spec.vocabulary;
  }
  return run;
}

struct Sweep {
  std::string key;
  std::vector<std::string> values;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == ',') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

/// "gamma=0,0.1" as given; "gamma,frequency" with the values of method.md section 16.1.
std::vector<Sweep> read_sweeps(const std::vector<std::string>& flags) {
  std::vector<Sweep> sweeps;
  for (const std::string& flag : flags) {
    if (const size_t equals = flag.find('='); equals != std::string::npos) {
      sweeps.push_back({flag.substr(0, equals), split(flag.substr(equals + 1))});
      continue;
    }
    for (const std::string& name : split(flag)) {
      if (name == "gamma") {
        sweeps.push_back({"gamma", {"0", "0.01", "0.03", "0.1", "0.3", "1"}});
      } else if (name == "frequency" || name == "p") {
        sweeps.push_back({"frequency", {"0.1", "0.3", "0.5", "0.7", "0.9"}});
      } else {
        throw Error(ErrorKind::kUsage, "read flags",
                    fmt::format("--sweep {}: no values of its own are known", name),
                    "gamma, frequency, or NAME=VALUE,VALUE of a setting of the task");
      }
    }
  }
  return sweeps;
}

}  // namespace

std::vector<TrainRun> plan_runs(const TrainOptions& options) {
  if (options.seeds < 1 || options.seeds > 1000) {
    throw Error(ErrorKind::kUsage, "read flags", fmt::format("--seeds {}", options.seeds),
                "from 1 to 1000");
  }
  const std::vector<Sweep> sweeps = read_sweeps(options.sweeps);
  std::vector<TrainRun> runs;
  for (int64_t s = 0; s < options.seeds; ++s) {
    const uint64_t seed = options.seed + static_cast<uint64_t>(s);
    for (const std::string& arm : options.arms) {
      if (sweeps.empty()) runs.push_back(make_run(options, arm, arm, options.settings, seed));
      for (const Sweep& sweep : sweeps) {
        for (const std::string& value : sweep.values) {
          Settings settings = options.settings;
          settings[sweep.key] = value;
          const std::string prefix = arm == "base" ? std::string() : arm + "-";
          runs.push_back(make_run(options, fmt::format("{}{}={}", prefix, sweep.key, value), arm,
                                  settings, seed));
        }
      }
    }
  }
  return runs;
}

}  // namespace sinkscope::app
