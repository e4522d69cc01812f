#include "sinkscope/train/network.h"

#include <ATen/ATen.h>

#include "sinkscope/model/layers/pathway.h"
#include "sinkscope/train/kernels/attention.h"
#include "sinkscope/train/kernels/functions.h"

namespace sinkscope::train {
namespace {

using model::Gate;
using model::ModelSpec;
using model::Positions;

class Network {
 public:
  Network(const ModelSpec& spec, const Parameters& parameters, const Batch& batch)
      : spec_(spec),
        parameters_(parameters),
        batch_(batch),
        sequences_((batch.vectors.defined() ? batch.vectors : batch.ids).size(0)),
        tokens_((batch.vectors.defined() ? batch.vectors : batch.ids).size(1)) {
    if (spec.split_channels > 0) {
      split_ = at::ones({tokens_, spec.width}, at::kFloat);
      split_.slice(1, 0, spec.split_channels).zero_();
      split_[0] = 1 - split_[0];
    }
  }

  Outputs run() {
    at::Tensor x = embed();
    for (layer_ = 0; layer_ < spec_.layers; ++layer_) {
      const at::Tensor z = norm(name("norm1"), before_norm(layer_ == 0 ? first_input(x) : x));
      x = x + attention_branch(z);
      if (spec_.mlp) {
        x = x + kernels::mlp(spec_.activation, norm(name("norm2"), before_norm(x)),
                             parameters_.linear(name("up")), parameters_.linear(name("down")));
      }
    }
    if (spec_.final_norm) x = norm("final_norm", x);
    outputs_.result = spec_.vectors ? x : kernels::linear(x, parameters_.linear("head"));
    return std::move(outputs_);
  }

 private:
  std::string name(const char* part) const {
    return "blocks." + std::to_string(layer_) + "." + part;
  }

  at::Tensor norm(const std::string& ours, const at::Tensor& x) const {
    const model::NormWeights weights = parameters_.norm(ours);
    if (!weights.defined()) return x;
    return at::layer_norm(x, {spec_.width}, weights.gain, weights.bias, spec_.norm_epsilon);
  }

  at::Tensor before_norm(const at::Tensor& x) const { return split_.defined() ? x * split_ : x; }

  /// Rows of positions, with the first token's own row. [T, D]
  at::Tensor position_rows() const {
    at::Tensor rows = parameters_.at("positions").slice(0, 0, tokens_);
    const at::Tensor& first = parameters_.at("first_token");
    if (first.defined()) {
      rows = at::cat({(rows[0] + first).unsqueeze(0), rows.slice(0, 1)});
    }
    return rows;
  }

  at::Tensor embed() const {
    at::Tensor x = batch_.vectors.defined() ? batch_.vectors
                                            : at::embedding(parameters_.at("embed"), batch_.ids);
    if (spec_.positions == Positions::kLearned) x = x + position_rows();
    return norm("embed_norm", x);
  }

  at::Tensor first_input(const at::Tensor& x) const {
    return spec_.positions == Positions::kFirstNorm ? x + position_rows() : x;
  }

  /// [B, T, heads * K] times a gate of the normed input.
  at::Tensor gated(const at::Tensor& x, Gate gate, const char* part, const at::Tensor& z,
                   int64_t heads) const {
    if (gate == Gate::kNone) return x;
    const at::Tensor factor = kernels::linear(z, parameters_.linear(name(part))).sigmoid();
    if (gate == Gate::kElementwise) return x * factor;
    return (x.reshape({sequences_, tokens_, heads, -1}) * factor.unsqueeze(-1)).flatten(2);
  }

  at::Tensor attention_branch(const at::Tensor& z) {
    at::Tensor qkv = kernels::linear(z, parameters_.linear(name("qkv")));
    if (spec_.key_gate != Gate::kNone || spec_.value_gate != Gate::kNone) {
      const std::vector<at::Tensor> parts =
          at::split_with_sizes(qkv, {spec_.query_width(), spec_.key_width(), spec_.key_width()}, 2);
      qkv = at::cat({parts[0], gated(parts[1], spec_.key_gate, "key_gate", z, spec_.kv_heads),
                     gated(parts[2], spec_.value_gate, "value_gate", z, spec_.kv_heads)},
                    2);
    }
    at::Tensor out =
        kernels::attention(spec_, qkv,
                           {parameters_.at(name("sinks")), parameters_.at(name("extra_key")),
                            parameters_.at(name("extra_value"))});
    out = gated(out, spec_.output_gate, "output_gate", z, spec_.heads);
    out = kernels::linear(out, parameters_.linear(name("o")));
    outputs_.attention.push_back(out);
    if (spec_.pathway == 0) return out;
    return out + model::pathway_update(z, parameters_.linear(name("path_select")),
                                       parameters_.linear(name("path_value")),
                                       parameters_.linear(name("path_gate")),
                                       parameters_.linear(name("path_out")));
  }

  const ModelSpec& spec_;
  const Parameters& parameters_;
  const Batch& batch_;
  const int64_t sequences_, tokens_;
  at::Tensor split_;  // [T, D]
  int64_t layer_ = 0;
  Outputs outputs_;
};

}  // namespace

Outputs run_network(const ModelSpec& spec, const Parameters& parameters, const Batch& batch) {
  return Network(spec, parameters, batch).run();
}

at::Tensor common_mode_energies(const Outputs& outputs) {
  std::vector<at::Tensor> rows;
  for (const at::Tensor& o : outputs.attention) {
    rows.push_back(
        at::stack({o.mean(1).square().sum(), o.square().sum() / static_cast<double>(o.size(1))}));
  }
  return at::stack(rows);
}

at::Tensor common_mode_penalty(const at::Tensor& energies) {
  return (energies.select(1, 0) / (energies.select(1, 1) + 1e-12)).sum();
}

}  // namespace sinkscope::train
