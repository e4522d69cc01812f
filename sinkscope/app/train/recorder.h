#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sinkscope/app/measure.h"
#include "sinkscope/app/task_inputs.h"
#include "sinkscope/train/trainer.h"

namespace sinkscope::app {

/// One head of a model in training, means over the measured sequences; NaN: no data.
struct HeadRecord {
  std::vector<double> mass;  ///< by query kind: mean attention to the key that the task expects
  double selected = 0;       ///< share of sequences whose dominant key is that one
  double value_ratio = 0;    ///< ||W_O v|| at that key / mean over the others
  double alpha_sink = 0, ratio_out = 0, stable_rank = 0, common_mode = 0;  ///< as `scan` has them
  double sigma_ratio = 0;                    ///< sigma_1 / sigma_2 of W_Q^T W_K, as `scan` has it
  std::vector<double> spectrum;              ///< its largest singular values, largest first
  std::string verdict, verdict_conditional;  ///< most frequent class; with routed queries alone
};
struct LayerRecord {
  std::vector<HeadRecord> heads;
  double norm_key = 0, norm_rest = 0;  ///< residual behind the block: at that key, and the others
};
/// A model at one step.
struct ModelRecord {
  double loss = 0;                   ///< on the evaluation sequences, nats or squared error
  std::vector<double> loss_of_kind;  ///< [kinds]
  std::vector<LayerRecord> layers;
};

/// Measures a model in training on evaluation sequences of its task, through the statistics and
/// diagnostics of `scan`.
class Recorder {
 public:
  Recorder(const train::Task& task, int64_t sequences, int threads);

  /// `directory`: where the trainer's model was just written; it is opened like any other.
  ModelRecord record(const train::Trainer& trainer, const std::filesystem::path& directory) const;

 private:
  std::shared_ptr<const train::Batch> batch_;
  train::Batch loss_batch_;  // more sequences: a loss is noisier than the statistics
  size_t kinds_;
  Inputs inputs_;
  std::vector<const store::SequenceInfo*> sequences_;
  std::vector<forward::Stream> streams_;
  int threads_;
};

}  // namespace sinkscope::app
