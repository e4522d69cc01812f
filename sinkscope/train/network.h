#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "sinkscope/model/model_spec.h"
#include "sinkscope/train/parameters.h"
#include "sinkscope/train/task.h"

namespace sinkscope::train {

/// What a batch becomes on its way through a lab model.
struct Outputs {
  at::Tensor result;                  ///< [B, T, D] what leaves the last block, or logits [B, T, V]
  std::vector<at::Tensor> attention;  ///< by block, [B, T, D]: the update W_O z, pathway left out
};

/// The differentiable forward pass of a lab model over a batch of equally long sequences. The same
/// formulas as forward::Runner gives to the finished model (a test holds the two equal); here the
/// maps of the batch are held whole, since backward() needs them.
Outputs run_network(const model::ModelSpec& spec, const Parameters& parameters, const Batch& batch);

/// Energies by block, summed over sequences: of the update's mean over tokens, and of the update,
/// averaged over tokens. [L, 2]
at::Tensor common_mode_energies(const Outputs& outputs);

/// Sum over blocks of E(mean_i o_i) / (E(o) + 1e-12) (method.md section 17, common-mode penalty): 1
/// for an update that all tokens share, 0 for a centred one. `energies`: common_mode_energies() of
/// a batch divided by its sequences. Its gradient goes through numerator and denominator.
at::Tensor common_mode_penalty(const at::Tensor& energies);

}  // namespace sinkscope::train
