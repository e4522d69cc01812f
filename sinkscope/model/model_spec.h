#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sinkscope::model {

enum class Norm { kRms, kLayer };
enum class Activation { kSilu, kGelu, kGeluTanh, kRelu };
enum class Positions { kRotary, kLearned };

/// Rotary embedding of one layer: which channels turn, in which pairs, how fast.
struct Rope {
  int64_t width = 0;  ///< first channels of each head that are rotated
  double base = 10000;
  std::vector<double> inverse_frequency;  ///< [width / 2], every scaling already applied
  double magnitude = 1;                   ///< factor on cos and sin (longrope, yarn)
};

/// The facts of a model family that the forward pass needs, as data. Letters: L layers, H query
/// heads, G key/value heads, D model width, K head width, V vocabulary, F MLP width.
struct ModelSpec {
  std::string family;  ///< "llama"
  int64_t layers = 0, heads = 0, kv_heads = 0, width = 0, head_width = 0, vocabulary = 0;
  int64_t mlp_width = 0;
  int64_t context = 0;  ///< longest sequence the model was made for; 0: not said
  bool causal = true;

  Norm norm = Norm::kRms;
  double norm_epsilon = 1e-5;
  Positions positions = Positions::kRotary;
  Rope rope;
  double score_scale = 0;  ///< on q.k before softmax
  Activation activation = Activation::kSilu;
  bool gated_mlp = true;        ///< down(act(gate(x)) * up(x)); otherwise down(act(up(x)))
  bool tied_head = false;       ///< logits use the embedding matrix
  bool attention_bias = false;  ///< biases on q, k, v
  bool output_bias = false;     ///< bias on o
  bool mlp_bias = false;
  std::vector<std::string>
      notes;  ///< facts worth telling: unused blocks, an outer key overruled, ...

  int64_t query_width() const { return heads * head_width; }
  int64_t key_width() const { return kv_heads * head_width; }

  int64_t group_of(int64_t head) const { return head / (heads / kv_heads); }
  std::string text() const;  ///< "llama, 30 layers x 9 heads of 64 (3 key/value), width 576, ..."
};

}  // namespace sinkscope::model
