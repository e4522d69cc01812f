#pragma once

#include <cstdint>
#include <string>

namespace sinkscope::train {

struct OptimiserOptions {
  std::string name = "adamw";  ///< or "sgd"
  double rate = 1e-3;          ///< peak learning rate
  double weight_decay = 1e-4;
  double beta1 = 0.9, beta2 = 0.999;  ///< of adamw
  double epsilon = 1e-8;              ///< of adamw
  double momentum = 0;                ///< of sgd
  std::string schedule = "constant";  ///< or "cosine", "linear": from the peak to rate_end * peak
  double rate_end = 0;
  int64_t warmup = 0;  ///< steps over which the rate rises to its peak
  double clip = 0;     ///< largest norm of the gradient; 0: as it is
};

struct TrainerOptions {
  int64_t steps = 1000;
  int64_t batch = 256;  ///< sequences per step
  OptimiserOptions optimiser;
  double embedding_deviation = 0.02;  ///< of the initial embeddings of ids
  double penalty = 0;            ///< factor of the common-mode penalty
  double gate_bias = 2;          ///< initial bias of gates: sigmoid(2) = 0.88
  bool freeze_sinks = false;     ///< sink logits stay 0: softmax-off-by-one
  bool skip_first_loss = false;  ///< TNLM: the prediction made at position 0 has no loss
  double smoothing = 0.99;       ///< of the running means of losses
  uint64_t seed = 0;
};

}  // namespace sinkscope::train
