#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sinkscope::app {

/// What `train TASK` is given. What is not set comes from the task's recipe.
struct TrainOptions {
  std::string task;
  std::string output;  ///< folder; empty: the task's name
  bool paper = false;  ///< the published recipe instead of the scaled-down one
  std::map<std::string, std::string> settings;  ///< of the task: name and JSON text

  std::optional<int64_t> steps, batch, warmup;
  std::optional<double> rate, weight_decay, momentum, clip;
  std::string optimiser, schedule;  ///< empty: the recipe's

  std::vector<std::string> arms = {"base"};  ///< variants, several joined by "+"
  std::vector<std::string> sweeps;           ///< "gamma", "gamma=0,0.1,1", "frequency"
  uint64_t seed = 0;                         ///< of the first run
  int64_t seeds = 1;                         ///< runs of every arm, with consecutive seeds

  double gate_bias = 2;                ///< initial bias of gates; sigmoid(2) = 0.88
  double penalty = 1;                  ///< of the arm `penalty`
  double clip_alpha = 3;               ///< of `clipped`: gamma = -alpha / T
  std::optional<double> sigmoid_bias;  ///< of `sigmoid`; -log T
  int64_t registers = 4;               ///< of `registers`
  int64_t force_sink = 16;             ///< channels of `force-sink`
  int64_t pathway_width = 64;          ///< of `pathway`

  int64_t record_every = 0;       ///< steps; 0: a fiftieth of the run. Powers of two always
  int64_t record_sequences = 64;  ///< measured at each record
  int64_t checkpoint_every = 0;   ///< steps between kept models; 0: a tenth of the run
  std::string report;             ///< HTML page; empty: none
  std::string format = "table";
  std::string table;  ///< of CSV; empty: the first
  bool overwrite = false;
  int threads = 0;  ///< 0: all cores
};

}  // namespace sinkscope::app
