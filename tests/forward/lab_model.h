#pragma once

#include <ATen/ATen.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "sinkscope/forward/stream.h"
#include "sinkscope/model/families/families.h"
#include "sinkscope/model/families/lab.h"
#include "sinkscope/model/model.h"
#include "tests/forward/random_weights.h"
#include "tests/support/paths.h"

namespace sinkscope::forward::test {

/// The facts of a small lab model, complete: reading its configuration gives the same.
/// `vocabulary` 0: of vectors. Two heads of 6 channels, width 12, contexts of 16 tokens.
inline model::ModelSpec lab_spec(int64_t vocabulary = 0, int64_t layers = 1, int64_t mlp = 0) {
  model::ModelSpec spec;
  spec.family = std::string(model::kLabType);
  spec.layers = layers, spec.heads = spec.kv_heads = 2, spec.width = 12, spec.head_width = 6;
  spec.vocabulary = vocabulary, spec.mlp_width = mlp, spec.context = 16;
  spec.vectors = vocabulary == 0;
  spec.causal = !spec.vectors;
  spec.blocks.resize(static_cast<size_t>(layers));
  spec.norm = model::Norm::kLayer;
  spec.final_norm = false;
  spec.positions = model::Positions::kLearned;
  spec.score_scale = 1 / std::sqrt(6.0);
  spec.activation = model::Activation::kGelu;
  spec.mlp = spec.mlp_bias = mlp > 0;
  spec.gated_mlp = false;
  return spec;
}

struct LabCase {
  std::string name;
  model::ModelSpec spec;
};
inline void PrintTo(const LabCase& c, std::ostream* out) { *out << c.name; }

/// Every variant of a lab model at least once, alone and together with others.
inline std::vector<LabCase> lab_cases() {
  using model::Gate;
  using model::Positions;
  using model::ScoreKind;
  std::vector<LabCase> cases;
  const auto add = [&](const char* name, model::ModelSpec spec,
                       const std::function<void(model::ModelSpec&)>& change) {
    change(spec);
    cases.push_back({name, std::move(spec)});
  };
  const model::ModelSpec vectors = lab_spec(), ids = lab_spec(20), deep = lab_spec(0, 2, 20);
  add("attention_alone", vectors, [](auto&) {});
  add("damping", vectors, [](auto& s) {
    s.embed_norm = s.first_token = true;
    s.branch_input_norms = false;
  });
  add("broadcast", deep, [](auto& s) {
    s.positions = Positions::kFirstNorm;
    s.first_token = true;
  });
  add("first_norm_without_norm", vectors, [](auto& s) {
    s.positions = Positions::kFirstNorm;
    s.branch_input_norms = false;
  });
  add("first_token_alone", vectors, [](auto& s) {
    s.positions = Positions::kNone;
    s.first_token = true;
  });
  add("tokens", lab_spec(20, 2, 24), [](auto& s) {
    s.kv_heads = 1;
    s.activation = model::Activation::kRelu;
    s.final_norm = true;
  });
  add("sink_logits", ids, [](auto& s) { s.sink_logits = true; });
  add("clipped", vectors, [](auto& s) { s.scores = {ScoreKind::kClipped, -0.15, 1.1, 0}; });
  add("clipped_sink_logits", ids, [](auto& s) {
    s.scores = {ScoreKind::kClipped, -0.1, 1, 0};
    s.sink_logits = true;
  });
  add("sigmoid", ids, [](auto& s) {
    s.scores = {ScoreKind::kSigmoid, 0, 1, -2};
    s.kv_heads = 1;
  });
  add("relu", lab_spec(20, 2, 16), [](auto& s) { s.scores.kind = ScoreKind::kRelu; });
  add("relu_vectors", vectors, [](auto& s) { s.scores.kind = ScoreKind::kRelu; });
  add("extra_key", vectors, [](auto& s) { s.extra_key = true; });
  add("extra_value", lab_spec(20, 2), [](auto& s) {
    s.extra_key = s.extra_value = true;
    s.kv_heads = 1;
  });
  add("clipped_extra_value", ids, [](auto& s) {
    s.extra_key = s.extra_value = true;
    s.scores = {ScoreKind::kClipped, -0.05, 1.05, 0};
  });
  add("headwise_gates", vectors,
      [](auto& s) { s.output_gate = s.key_gate = s.value_gate = Gate::kHeadwise; });
  add("elementwise_gates", lab_spec(20, 2, 16), [](auto& s) {
    s.output_gate = s.key_gate = s.value_gate = Gate::kElementwise;
    s.kv_heads = 1;
  });
  add("value_gate", ids, [](auto& s) { s.value_gate = Gate::kHeadwise; });
  add("pathway", deep, [](auto& s) { s.pathway = 3; });
  add("force_sink", lab_spec(20, 2, 16), [](auto& s) { s.split_channels = 4; });
  add("together", deep, [](auto& s) {
    s.positions = Positions::kFirstNorm;
    s.first_token = s.extra_key = s.extra_value = s.embed_norm = s.final_norm = true;
    s.output_gate = Gate::kElementwise;
    s.value_gate = Gate::kHeadwise;
    s.pathway = 5;
    s.split_channels = 4;
  });
  return cases;
}

/// A lab model of random weights. `change` may alter a tensor, by its name in the file.
inline std::unique_ptr<model::Model> make_lab(
    const model::ModelSpec& spec, const std::string& name,
    const std::function<void(const std::string&, std::vector<float>&)>& change = {}) {
  RandomWeights weights(model::kLab, spec);
  for (size_t i = 0; i < weights.expected().size(); ++i) {
    std::vector<float>& values = weights.values(i);
    // So that the extra key takes a share that depends on the query.
    if (weights.expected()[i].name.find("extra_") != std::string::npos) {
      for (float& value : values) value *= 10;
    }
    if (change) change(weights.expected()[i].name, values);
  }
  const std::filesystem::path folder = sinkscope::test::scratch_directory("lab-" + name);
  std::ofstream(folder / "config.json") << model::lab_config(spec).dump();
  weights.write(folder);
  return model::Model::open(folder.string());
}

/// Input of normal numbers or of ids.
inline Stream row_stream(const model::ModelSpec& spec, int64_t tokens, unsigned seed = 8) {
  std::mt19937 random(seed);
  Stream stream;
  if (!spec.vectors) {
    for (int64_t i = 0; i < tokens; ++i)
      stream.ids.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(spec.vocabulary)));
    return stream;
  }
  std::normal_distribution<float> normal;
  stream.vectors = at::empty({tokens, spec.width}, at::kFloat);
  for (int64_t i = 0; i < stream.vectors.numel(); ++i)
    stream.vectors.data_ptr<float>()[i] = normal(random);
  return stream;
}

}  // namespace sinkscope::forward::test
